"""Outputs as they stand in a file, to a space and to what the learner takes."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from ..labelsets import LabelSets
from ..spaces import Classes, Name, OutputSpace, TreeLeaves
from .limits import Limits

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "<NA>")


def class_outputs(
    texts: Sequence[str], places: Sequence[str], tree: dict[Name, Name] | None, limits: Limits
) -> tuple[list[Any], OutputSpace]:
    """Class names, or nodes of a tree; empty, "?" or "NA" is missing. `places` says where each stands."""
    texts = [text.strip() for text in texts]
    y: list[Any] = [None if text in MISSING else text for text in texts]
    names = sorted({name for name in y if name is not None}, key=_natural)
    if not names:
        raise ValueError("the output column must have at least one value; all are empty. Fill in some.")
    refuse_names(names, len(y), limits)
    if tree is None:
        if len(names) < 2:
            raise ValueError(f"the output must take two values or more; the only one is {names[0]!r}.")
        return y, Classes(names)
    space = TreeLeaves(tree)
    for output, place in zip(y, places, strict=True):
        if output is not None and output not in space.nodes:
            raise ValueError(f"{place}: {output!r} is not a node of the tree. Add it or correct it.")
    return y, space


def refuse_names(names: Sequence[str], n: int, limits: Limits) -> None:
    """Refuse outputs of which there are too many to be classes."""
    if len(names) > limits.outputs or (n >= 20 and len(names) > n / 2):
        raise ValueError(
            f"the output takes {len(names):,} different values in {n:,} rows, which looks like a measurement "
            f"or a name, not like classes (at most {limits.outputs:,}). Choose another output column."
        )
    refuse_long_names(names, limits)


def refuse_long_names(names: Sequence[str], limits: Limits) -> None:
    """Refuse names that nobody could read."""
    for name in names:
        if len(name) > limits.name:
            raise ValueError(f"names must have at most {limits.name} characters; {name[:40]!r}... has more.")


def label_set_outputs(
    rows: Sequence[Sequence[str]], labels: Sequence[str], places: Sequence[str]
) -> tuple[list[Any], OutputSpace]:
    """Columns of 0 and 1; an empty or "?" cell is missing, a row of such cells a missing output."""
    bits = {"0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1} | dict.fromkeys(MISSING)
    y: list[Any] = []
    for row, place in zip(rows, places, strict=True):
        cells = [cell.strip().lower() for cell in row]
        for cell, label in zip(cells, labels, strict=True):
            if cell not in bits:
                raise ValueError(f"{place}, column {label!r}: expected 0, 1 or empty; got {cell!r:.40}.")
        values = tuple(bits[cell] for cell in cells)
        y.append(None if set(values) == {None} else values)
    if all(output is None for output in y):
        raise ValueError("the label columns must have at least one value; all are empty. Fill in some.")
    return y, LabelSets(labels)


def read_tree(text: str, limits: Limits) -> dict[Name, Name]:
    """child -> parent of a `node,parent` table; the root has an empty parent or no line of its own."""
    parents: dict[Name, Name] = {}
    lines = csv.reader(io.StringIO(text))
    for number, row in enumerate(lines, 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (number == 1 and cells[:2] == ["node", "parent"]):
            continue
        if len(cells) != 2 or not cells[0]:
            raise ValueError(f"tree.csv line {number}: expected node,parent; got {','.join(row)!r:.80}.")
        if cells[0] in parents:
            raise ValueError(f"tree.csv line {number}: node {cells[0]!r:.80} has a parent already.")
        if cells[1]:
            parents[cells[0]] = cells[1]
        if len(parents) > limits.nodes:
            raise ValueError(f"tree.csv must have at most {limits.nodes:,} nodes; it has more.")
    TreeLeaves(parents)  # a cycle or a second root is told here, before the data is read
    return parents


def _natural(name: str) -> tuple[int, float, str]:
    """Numbers in their own order, before words."""
    try:
        value = float(name)
    except ValueError:
        return 1, 0.0, name
    return (0, value, name) if value == value else (1, 0.0, name)
