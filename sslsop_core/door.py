"""Checks at the door of every estimator: inputs, outputs and the space they live in."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, column_or_1d, validate_data

from .inputs import Inputs, Matrix, single_rows, token_rows
from .sequences import Sequences
from .spaces import Classes, OutputSpace, is_missing


def check_training(estimator: Any, X: Any, y: Any, space: OutputSpace | None):
    """Validate X and y for `fit`.

    Returns
    -------
    space : the one given, or `Classes` inferred from y.
    inputs : the tokens of X.
    given : codes of y (see `spaces`).
    """
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    inputs = check_inputs(estimator, X, space, reset=True)
    space, given = check_outputs(y, space, inputs.starts)
    return space, inputs, given


def check_outputs(y: Any, space: OutputSpace | None, starts: np.ndarray) -> tuple[OutputSpace, np.ndarray]:
    """The space and the given codes of y, for inputs whose tokens begin at `starts`."""
    if space is None:
        _refuse_markers_as_text(y)
    y = _as_list(y, structured=space is not None and not isinstance(space, Classes))
    if len(y) != len(starts) - 1:
        raise ValueError(
            f"X and y must have the same length; got inconsistent numbers of samples: "
            f"[{len(starts) - 1}, {len(y)}]."
        )
    space = infer_classes(y) if space is None else space
    given = space.encode(y, starts)
    if given.max(initial=-1) < 0:
        raise ValueError(
            "y must hold at least one output to learn from; all of them are missing. "
            "Give the output of some points, best a few of every kind."
        )
    return space, given


def check_inputs(estimator: Any, X: Any, space: OutputSpace | None, reset: bool) -> Inputs:
    """The tokens of X, after the checks that scikit-learn's users expect."""
    if isinstance(space, Sequences):
        inputs = token_rows(X, None if reset else estimator.n_features_in_)
        if reset:
            estimator.n_features_in_ = inputs.d
    else:
        rows = validate_data(estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
        inputs = single_rows(rows)
    with np.errstate(over="ignore"):
        if not np.isfinite(inputs.square_norms.sum()):
            raise ValueError(
                f"X holds numbers too large to square in {inputs.rows.dtype}; scale the features, "
                "with StandardScaler for example."
            )
    if (
        reset
        and inputs.square_norms.max() < np.finfo(inputs.rows.dtype).smallest_normal
        and _any(inputs.rows)
    ):
        raise ValueError(
            f"X holds numbers too small to square in {inputs.rows.dtype}; scale the features, "
            "with StandardScaler for example."
        )
    return inputs


def _any(rows: Matrix) -> bool:
    """Whether any number is not zero."""
    return bool(rows.count_nonzero() if sp.issparse(rows) else rows.any())


def _refuse_markers_as_text(y: Any) -> None:
    """NumPy turns what stands beside a string into one: a missing output would become a class."""
    if not isinstance(y, np.ndarray) or y.dtype.kind not in "US":
        return
    told = y.astype(str)
    for marker in ("None", "nan", "-1", "<NA>"):
        if (told == marker).any():
            raise ValueError(
                f"y is an array of text that holds {marker!r}: a class, or a missing output that NumPy made "
                "text of? Give y as a list or with dtype=object, and None where an output is missing; or "
                "pass space=Classes([...]) with the names of the classes."
            )


def _as_list(y: Any, structured: bool) -> Sequence[Any]:
    """y as a sequence of plain values, one per point."""
    if hasattr(y, "to_numpy"):  # of pandas, whose frames iterate over columns
        y = y.to_numpy(dtype=object) if getattr(y, "ndim", 1) == 1 else y.to_numpy()
    if structured:
        return y.tolist() if isinstance(y, np.ndarray) else list(y)
    if not isinstance(y, list):
        _num_samples(y)  # scikit-learn's message for what is no sequence at all
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f" and np.isinf(y).any():
            raise ValueError("Input y contains infinity; a class must be a finite number, a string or None.")
        y = y.tolist()
    return y


def infer_classes(y: Sequence[Any]) -> Classes:
    """The classes named in y: every value but None, NaN and -1.

    Only -1 and 1 in y are the two classes of many SVM libraries; a warning says so.

    >>> infer_classes(["b", None, "a"]).names
    ('a', 'b')
    """
    named = [value for value in y if not is_missing(value)]
    minus = [isinstance(v, (int, float)) and not isinstance(v, bool) and v == -1 for v in named]
    if any(minus) and len(named) < len(y):
        raise ValueError(
            "y has both -1 and None (or NaN): is -1 a class or a missing output? "
            "Use one marker, or pass space=Classes([...]) with the names of the classes."
        )
    if any(minus) and set(named) == {-1, 1}:
        warnings.warn(
            "y holds -1 and 1 only: read as two classes; use None for missing outputs.", stacklevel=2
        )
    else:
        named = [value for value, is_minus in zip(named, minus, strict=True) if not is_minus]
    if not named:
        raise ValueError("y must hold at least one output to learn from; all of them are missing.")
    kinds = {type(value) for value in named}
    if len(kinds) == 1 and kinds <= {int, float, str, bool}:
        check_classification_targets(named)
        return Classes(np.unique(named).tolist())
    return Classes(sorted(set(named), key=lambda value: (type(value).__name__, value)))
