"""One symbol per output, for its colour: the class or leaf, or the rarest tag or label that it holds.

Sequences and sets are too many to have a colour each. Their rarest part is what tells them apart best,
in names among other words say.
"""

from __future__ import annotations

import numpy as np

from sslsop_core import LabelSets, OutputSpace, Sequences

EMPTY = "empty set"


class Symbols:
    """Codes of outputs in, one number per point out: an index into `names`, -1 where there is no output."""

    def __init__(self, space: OutputSpace, known: np.ndarray, starts: np.ndarray):
        """`known` are codes of outputs that are known: they say which tags and labels are rare."""
        self.space, self.starts = space, starts
        names = [str(name) for name in space.names]
        self.names = [*names, EMPTY] if isinstance(space, LabelSets) else names
        counts = _counts(space, known)
        self._order = np.argsort(counts, kind="stable")  # rarest first
        self._rank = np.empty(len(counts), dtype=np.int64)
        self._rank[self._order] = np.arange(len(counts))

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        if isinstance(self.space, Sequences):
            ranks = np.where(codes >= 0, self._rank[codes], -1)
            first = np.minimum.reduceat(ranks, self.starts[:-1])
            return np.where(first >= 0, self._order[first], -1)
        if isinstance(self.space, LabelSets):
            held = codes[:, self._order] > 0
            symbols = np.where(held.any(axis=1), self._order[held.argmax(axis=1)], len(self.space))
            return np.where(codes[:, 0] >= 0, symbols, -1)
        return np.where(codes < len(self.space), codes, -1).astype(np.int64)  # inner nodes: no leaf yet

    @property
    def caption(self) -> str:
        """What the colour stands for, where it is not the output itself."""
        if isinstance(self.space, Sequences):
            return "colour: rarest tag in the sequence"
        return "colour: rarest label in the set" if isinstance(self.space, LabelSets) else ""


def _counts(space: OutputSpace, known: np.ndarray) -> np.ndarray:
    if isinstance(space, LabelSets):
        return np.maximum(known, 0).sum(axis=0)
    return np.bincount(known[(known >= 0) & (known < len(space))], minlength=len(space))


def text_of(space: OutputSpace, output: object) -> str:
    """An output in one line: a name, tags in a row, or the labels of a set."""
    if output is None:
        return "no output yet"
    if isinstance(space, Sequences):
        tags = [str(tag) if tag is not None else "?" for tag in output]  # type: ignore[attr-defined]
        return ("" if all(len(tag) == 1 for tag in tags) else " ").join(tags)
    if isinstance(space, LabelSets):
        bits = zip(space.names, output, strict=True)  # type: ignore[call-overload]
        held = [str(name) if bit else f"{name}?" for name, bit in bits if bit is None or bit]
        return ", ".join(held) or EMPTY
    return str(output)
