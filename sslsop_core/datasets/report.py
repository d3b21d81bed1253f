"""What was understood of a file, for the person who gave it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..spaces import OutputSpace
from ..splits import symbols_of

KINDS = {
    "classes": "classes",
    "tree": "leaves of a tree",
    "sequences": "tags, a sequence of them per row",
    "labelsets": "labels, a set of them per row",
}


@dataclass(frozen=True)
class Report:
    """Rows, features, outputs, share of missing outputs, and what to look at twice."""

    format: str
    rows: int
    features: str
    outputs: str
    missing: float
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = f"{self.format}: {self.rows:,} rows, {self.features}, {self.outputs}, "
        lines = [head + f"{self.missing:.0%} of the outputs missing.", *self.warnings]
        return "\n".join(lines)


def describe_outputs(space: OutputSpace) -> str:
    """How many outputs there are, and the first of their names."""
    shown = ", ".join(map(str, space.names[:5])) + (", ..." if len(space) > 5 else "")
    return f"{len(space)} {KINDS[space.kind]} ({shown})"


def share_missing(y: Sequence[Any]) -> float:
    """Share of the outputs that are missing."""
    return sum(output is None for output in y) / len(y)


def output_warnings(y: Sequence[Any], space: OutputSpace) -> list[str]:
    """Classes that the file hardly shows, and outputs that are all given or only partly."""
    counts = Counter(symbol for output in y if output is not None for symbol in symbols_of(output))
    symbols: Iterable[Any] = range(len(space)) if space.kind == "labelsets" else space.names
    named = dict(zip(symbols, map(str, space.names), strict=True))
    rare = [named[s] for s in named if counts[s] == 1]
    absent = [named[s] for s in named if counts[s] == 0]
    partly = sum(_is_partly(output, space) for output in y)
    warnings = []
    if rare:
        warnings.append(f"Only one example of {_list(rare)}: too few to learn from and to test.")
    if absent:
        warnings.append(f"No example of {_list(absent)}.")
    if partly:
        warnings.append(f"{_many(partly, 'output is', 'outputs are')} given only in part.")
    if None not in y:
        warnings.append("Every output is given: hide some to see them learned.")
    return warnings


def _is_partly(output: Any, space: OutputSpace) -> bool:
    if isinstance(output, tuple):
        return None in output
    return output is not None and output not in space.names


def table_warnings(X: Any, names: Sequence[str]) -> list[str]:
    """Constant columns, missing cells and rows that occur twice."""
    if sparse.issparse(X):
        return _duplicates(_sparse_keys(X))
    warnings = []
    gaps = int(np.isnan(X).sum())
    if gaps:
        warnings.append(f"{_many(gaps, 'empty cell is', 'empty cells are')} filled with the column's median.")
    with np.errstate(invalid="ignore"):
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    constant = [names[c] for c in np.flatnonzero(~(low < high)).tolist()]
    if constant:
        warnings.append(f"Columns that never change say nothing: {_list(constant)}.")
    return warnings + _duplicates(row.tobytes() for row in np.ascontiguousarray(X))


def input_warnings(inputs: Iterable[Any]) -> list[str]:
    """Images or sentences that occur twice."""
    return _duplicates(x.tobytes() if isinstance(x, np.ndarray) else tuple(x) for x in inputs)


def _sparse_keys(X: sparse.csr_matrix) -> Iterable[Hashable]:
    spans = zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True)
    return ((X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in spans)


def _duplicates(keys: Iterable[Hashable]) -> list[str]:
    counts = Counter(hash(key) for key in keys)
    twice = sum(count - 1 for count in counts.values())
    return [f"{_many(twice, 'row repeats', 'rows repeat')} an earlier row."] if twice else []


def _many(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
