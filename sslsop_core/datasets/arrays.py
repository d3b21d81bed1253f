"""NPZ files: arrays X and y, and lengths when rows are the tokens of sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..sequences import Sequences
from ..spaces import Name
from .archives import read_npz
from .limits import Limits, refuse_table
from .outputs import class_outputs, label_set_outputs
from .problem import Problem
from .report import Report, describe_outputs, output_warnings, share_missing
from .tables import LARGEST, numeric_problem


def read_arrays(data: bytes, name: str, tree: dict[Name, Name] | None, limits: Limits) -> Problem:
    """An NPZ file with `X` and `y`, and `lengths` when rows are the tokens of sequences.

    In `y`, -1, NaN and "" are missing; a `y` with two axes holds label sets.
    """
    arrays = read_npz(data, ("X", "y", "lengths"), limits)
    if not {"X", "y"} <= set(arrays):
        raise ValueError("an NPZ file must hold arrays X and y. Write it with numpy.savez(file, X=X, y=y).")
    X, y = arrays["X"], arrays["y"]
    if X.ndim != 2 or X.dtype.kind not in "biuf" or 0 in X.shape:
        raise ValueError(f"X must be a table of numbers, two axes; got {X.dtype} of shape {X.shape}.")
    refuse_table(X.shape[0], X.shape[1], limits)
    X = X.astype(float)
    if (np.abs(X) > LARGEST).any():
        row, column = np.argwhere(np.abs(X) > LARGEST)[0]
        place = f"row {row}, column {column}"
        raise ValueError(f"X must hold numbers up to {LARGEST} or NaN; got {X[row, column]} in {place}.")
    if y.ndim not in (1, 2) or len(y) != len(X):
        raise ValueError(f"y must have an entry per row of X, {len(X)}; got the shape {y.shape}.")
    places = [f"y[{i}]" for i in range(len(y))]
    if y.ndim == 2:
        labels = [str(i + 1) for i in range(y.shape[1])]
        outputs, space = label_set_outputs([_array_texts(row) for row in y], labels, places)
        return numeric_problem("NPZ", name, X, outputs, space, _numbered(X))
    outputs, space = class_outputs(_array_texts(y), places, tree, limits)
    if "lengths" in arrays:
        return _sequence_problem(name, X, outputs, space.names, arrays["lengths"])
    return numeric_problem("NPZ", name, X, outputs, space, _numbered(X))


def _numbered(X: np.ndarray) -> list[str]:
    return [f"column {c}" for c in range(X.shape[1])]


def _array_texts(y: np.ndarray) -> list[str]:
    if y.dtype.kind == "U":
        return _unicode(y)
    if y.dtype.kind == "f":
        return ["" if v != v or v == -1 else str(int(v)) if v.is_integer() else str(v) for v in y.tolist()]
    return ["" if int(v) == -1 else str(int(v)) for v in y.tolist()]


def _unicode(y: np.ndarray) -> list[str]:
    """Text of an array, which may hold any numbers where characters should be."""
    try:
        texts = y.tolist()
        "".join(texts).encode()
    except (SystemError, ValueError):
        raise ValueError(
            "y must hold text; some of its characters are not Unicode. Write it again."
        ) from None
    return texts


def _sequence_problem(
    name: str, X: np.ndarray, tags: list[Any], names: Sequence[Name], lengths: np.ndarray
) -> Problem:
    sound = lengths.ndim == 1 and lengths.dtype.kind in "iu" and len(lengths) > 1 and (lengths > 0).all()
    if not sound or sum(lengths.tolist()) != len(X):
        raise ValueError(f"lengths must be whole numbers from 1 that add up to the {len(X)} rows of X.")
    if np.isnan(X).any():
        raise ValueError("X must not have NaN when rows are tokens; fill the gaps first.")
    ends = np.cumsum(lengths)
    spans = [(int(end - length), int(end)) for end, length in zip(ends, lengths, strict=True)]
    y = [None if set(tags[a:b]) == {None} else tuple(tags[a:b]) for a, b in spans]
    space = Sequences(names)
    features = f"{len(X):,} tokens of {X.shape[1]:,} features"
    found = tuple(output_warnings(y, space))
    report = Report("NPZ", len(y), features, describe_outputs(space), share_missing(y), found)
    return Problem(name, y, space, [X[a:b] for a, b in spans], report=report)
