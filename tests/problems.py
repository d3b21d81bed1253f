"""Small random problems, one per output space and loss, with their literal twins."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sslsop_core import Classes, LabelSets, OutputSpace, Sequences, TreeLeaves

from . import reference

TREE = {
    "cat": "pet", "dog": "pet", "pet": "animal", "wolf": "animal",
    "animal": "thing", "car": "thing", 7: "thing",
}  # fmt: skip


@dataclass
class Twin:
    """A problem for the core, and phi, delta and the list of outputs for the reference."""

    space: OutputSpace
    phi: Any
    delta: Any
    outputs_of: Any
    X: Any
    truth: list

    def random_output(self, rng, i):
        outputs = self.outputs_of(self.X[i])
        return outputs[rng.integers(len(outputs))]

    def partly(self, rng, y):
        """A given output that allows y and some others."""
        if self.space.kind == "tree":
            return "animal" if y in ("cat", "dog", "wolf") else None
        if self.space.kind == "classes":
            return None
        hidden = rng.random(len(y)) < 0.5
        return tuple(None if h else v for h, v in zip(hidden, y, strict=True))

    def allowed(self, i, given):
        outputs = self.outputs_of(self.X[i])
        if given is None:
            return outputs
        if self.space.kind == "tree":
            return [y for y in outputs if given in reference.ancestors(TREE, y)]
        if self.space.kind == "classes":
            return [given]
        return [y for y in outputs if all(g in (None, v) for g, v in zip(given, y, strict=True))]


KINDS = ["classes", "tree", "sequences-01", "sequences-hamming", "sets-01", "sets-hamming"]


def make(kind: str, rng: np.random.Generator, n: int = 12, d: int = 3) -> Twin:
    X: Any = rng.normal(size=(n, d))
    if kind == "classes":
        names = ["b", "a", 3]
        parts = (Classes(names), reference.class_phi(names), reference.zero_one, lambda x: names)
    elif kind == "tree":
        space = TreeLeaves(TREE)
        phi = reference.tree_phi(TREE, list(space.nodes))
        parts = (space, phi, reference.tree_loss(TREE), lambda x: list(space.names))
    elif kind.startswith("sequences"):
        tags = ["N", "V", 1]
        X = [rng.normal(size=(rng.integers(1, 5), d)) for _ in range(n)]
        loss, delta = (
            ("zero_one", reference.zero_one) if kind.endswith("01") else ("hamming", reference.hamming)
        )
        phi = reference.sequence_phi(tags)
        parts = (Sequences(tags, loss), phi, delta, lambda x: reference.all_tuples(tags, len(x)))
    else:
        loss, delta = (
            ("zero_one", reference.zero_one) if kind.endswith("01") else ("hamming", reference.hamming)
        )
        outputs = reference.all_tuples((0, 1), 3)
        parts = (LabelSets(["r", "g", "b"], loss), reference.set_phi, delta, lambda x: outputs)
    twin = Twin(*parts, X, [])
    twin.truth = [twin.random_output(rng, i) for i in range(n)]
    return twin
