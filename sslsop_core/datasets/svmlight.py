"""svmlight text: a sparse row per line."""

from __future__ import annotations

import io
import re

import numpy as np

from ..spaces import Name
from .limits import Limits, refuse_table
from .outputs import class_outputs
from .problem import Problem
from .report import Report, describe_outputs, output_warnings, share_missing, table_warnings
from .tables import LARGEST

SVM_LINE = re.compile(r"^(\S+)((?:[ \t]+\d+:[^\s:]+)*)[ \t]*(?:#.*)?$")


def read_svmlight(text: str, name: str, tree: dict[Name, Name] | None, limits: Limits) -> Problem:
    """Lines of `output column:value ...`; "?" is a missing output."""
    from sklearn.datasets import load_svmlight_file

    outputs, places, rows = [], [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = SVM_LINE.match(line.rstrip())
        if match is None:
            raise ValueError(f"line {number}: expected output column:value ...; got {line!r:.60}.")
        outputs.append(match[1])
        places.append(f"line {number}")
        rows.append(f"0{match[2]}")
    if len(rows) < 2:
        raise ValueError(f"the file must have two rows or more; it has {len(rows)}.")
    refuse_table(len(rows), 1, limits)
    try:
        X, _ = load_svmlight_file(io.BytesIO("\n".join(rows).encode()), zero_based="auto")
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"the file is not sound svmlight: {error}. Columns must be whole numbers in rising order."
        ) from None
    if not X.nnz:
        raise ValueError("the file must hold values, column:value; it holds outputs only.")
    if X.shape[1] > limits.sparse_columns:
        raise ValueError(f"columns must be numbered up to {limits.sparse_columns:,}; got {X.shape[1]:,}.")
    wrong = np.flatnonzero(~(np.abs(X.data) <= LARGEST))
    if len(wrong):
        row = int(np.searchsorted(X.indptr, wrong[0], side="right")) - 1
        raise ValueError(f"{places[row]}: values must be finite numbers. Correct it.")
    y, space = class_outputs(outputs, places, tree, limits)
    found = (*table_warnings(X, ()), *output_warnings(y, space))
    features = f"{X.shape[1]:,} sparse features"
    report = Report("svmlight", X.shape[0], features, describe_outputs(space), share_missing(y), found)
    return Problem(name, y, space, X, metric="cosine", report=report)
