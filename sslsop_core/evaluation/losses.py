"""How wrong predictions are: the space's own loss (eq. 28) and the usual ones beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..sequences import Sequences
from ..spaces import OutputSpace

IOB = re.compile(r"O|[BI]-.+")
# Everything else is a loss: lower is better.
HIGHER_IS_BETTER = frozenset({"entity F1"})


def average_loss(space: OutputSpace, y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """The mean of Delta(y, y*) over points (eq. 28); a point predicted as None pays the most.

    >>> from sslsop_core import TreeLeaves
    >>> tree = TreeLeaves({"cat": "animal", "dog": "animal", "animal": "thing", "car": "thing"})
    >>> average_loss(tree, ["cat", "cat", "car"], ["cat", "dog", "dog"])
    1.0
    """
    true, predicted, starts = _codes(space, y_true, y_pred)
    return float(space.losses(true, predicted, starts).mean())


def losses(space: OutputSpace, y_true: Sequence[Any], y_pred: Sequence[Any]) -> dict[str, float]:
    """All measures that fit the space: "loss", which is its own, "0-1", and for sequences and label sets
    "hamming"; where tags look like IOB also "entity F1", the only one of which more is better.

    >>> tags = Sequences(["O", "B-PER", "I-PER"])
    >>> losses(tags, [("B-PER", "I-PER", "O")], [("B-PER", "O", "O")])["entity F1"]
    0.0
    """
    true, predicted, starts = _codes(space, y_true, y_pred)
    wrong = space.changed(true, predicted, starts)
    found = {"loss": float(space.losses(true, predicted, starts).mean()), "0-1": float(wrong.mean())}
    if space.kind == "sequences":
        parts = np.add.reduceat((true != predicted).astype(float), starts[:-1]) / np.diff(starts)
        found["hamming"] = float(parts.mean())
    if space.kind == "labelsets":
        found["hamming"] = float((true != predicted).mean())
    if has_entities(space):
        found["entity F1"] = entity_f1(y_true, y_pred)
    return found


def has_entities(space: OutputSpace) -> bool:
    """Whether the outputs are sequences whose tags mark spans: O, B-..., I-...

    >>> has_entities(Sequences(["O", "B-PER", "I-PER"])), has_entities(Sequences("NV"))
    (True, False)
    """
    tags = [str(name) for name in space.names]
    return isinstance(space, Sequences) and set(tags) != {"O"} and all(map(IOB.fullmatch, tags))


def entity_f1(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """F1 of the entities of all sequences: an entity counts if its bounds and its type are right.

    >>> entity_f1([("B-PER", "I-PER", "O", "B-LOC")], [("B-PER", "I-PER", "O", "B-PER")])
    0.5
    """
    true = {(i, *span) for i, tags in enumerate(y_true) for span in spans(tags)}
    predicted = {(i, *span) for i, tags in enumerate(y_pred) for span in spans(tags or ())}
    if not true and not predicted:
        return 1.0  # nothing to find and nothing found
    return 2 * len(true & predicted) / (len(true) + len(predicted))


def spans(tags: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """First token, end and type of each entity. An I- that continues nothing begins an entity.

    >>> list(spans(["B-PER", "I-PER", "B-PER", "O", "I-LOC"]))
    [(0, 2, 'PER'), (2, 3, 'PER'), (4, 5, 'LOC')]
    """
    begin, kind = 0, ""
    for t, tag in enumerate([*tags, "O"]):
        place, _, what = tag.partition("-")
        if kind and (place != "I" or what != kind):
            yield begin, t, kind
            kind = ""
        if place != "O" and not kind:
            begin, kind = t, what


def _codes(
    space: OutputSpace, y_true: Sequence[Any], y_pred: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of both, and where each output begins among them."""
    y_true, y_pred = list(y_true), list(y_pred)
    if len(y_true) != len(y_pred) or not y_true:
        raise ValueError(
            f"y_true and y_pred must have the same length, at least 1; got {len(y_true)} and {len(y_pred)}."
        )
    lengths = [len(y) for y in y_true] if space.kind == "sequences" else [1] * len(y_true)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return space.encode(y_true, starts), space.encode(y_pred, starts), starts
