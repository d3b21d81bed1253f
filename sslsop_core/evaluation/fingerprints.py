"""Names for data and methods that are equal exactly when their results would be."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.metadata import version
from platform import python_version
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import __version__
from ..datasets import Problem

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
# The problem lends these to every method, and results do not depend on the number of threads.
NOT_OF_THE_METHOD = ("space", "metric", "views", "n_jobs")


def fingerprint(problem: Problem) -> str:
    """sha256 over X, y, the space and all else that a fold is made of."""
    digest = hashlib.sha256()
    _add(digest, problem.X)
    facts = [problem.y, problem.space.spec(), problem.metric, repr(problem.features)]
    digest.update(canonical(facts).encode())
    for array in (problem.groups, *(problem.views or ())):
        _add(digest, np.zeros(0) if array is None else np.asarray(array))
    return digest.hexdigest()


def _add(digest: Any, rows: Any) -> None:
    if isinstance(rows, list):
        digest.update(f"list {len(rows)}".encode())
        for row in rows:
            _add(digest, row)
    elif sp.issparse(rows):
        for part in (rows.indptr, rows.indices, rows.data):
            _add(digest, part)
    elif rows.dtype == object:
        digest.update(canonical(rows.tolist()).encode())
    else:
        digest.update(f"{rows.dtype.str} {rows.shape}".encode())
        digest.update(np.ascontiguousarray(rows))


def method_spec(method: Any) -> dict[str, Any]:
    """The kind of a method and its parameters, as plain data."""
    parameters = method.get_params(deep=False)
    kept = {name: value for name, value in parameters.items() if name not in NOT_OF_THE_METHOD}
    return {"kind": type(method).__name__, "parameters": kept}


def data_spec(problem: Problem) -> dict[str, Any]:
    """What finds the data of a run again: the name and the knobs that they were loaded by, where they have
    one, and the metric."""
    return {"load": problem.loaded, "metric": problem.metric}


def canonical(value: Any) -> str:
    """The same JSON text for equal values, whatever the order of keys."""
    return json.dumps(value, sort_keys=True, default=plain)


def plain(value: Any) -> Any:
    """JSON for what JSON has no word for."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return repr(value)


@cache
def versions() -> dict[str, str]:
    """Python and the packages that results depend on."""
    own = {"python": python_version(), "sslsop-lab": __version__}
    return own | {name: version(name) for name in PACKAGES}
