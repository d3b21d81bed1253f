"""Label sets: a binary vector over q labels, scored label by label."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from .spaces import Name, OutputSpace, agree_in_parts, is_missing


class LabelSets(OutputSpace):
    """A set of labels, written as a tuple of 0/1 (or as a set of names).

    Phi(x, y) = x (x) y. A tuple with `None` in places is partly given.

    Parameters
    ----------
    labels : names of the labels.
    loss : "hamming", the share of wrong labels, or "zero_one" on the whole set.

    >>> space = LabelSets(["red", "round"])
    >>> space.encode([(1, 0), {"round"}, (None, 1), None])
    array([[ 1,  0],
           [ 0,  1],
           [-1,  1],
           [-1, -1]], dtype=int8)
    """

    kind = "labelsets"

    def __init__(self, labels: Sequence[Name], loss: str = "hamming"):
        if loss not in ("zero_one", "hamming"):
            raise ValueError(f'loss must be "zero_one" or "hamming"; got {loss!r}.')
        self._set_names(labels, "labels")
        self.loss_name = loss

    def encode(self, outputs: Sequence[Any], starts: np.ndarray | None = None) -> np.ndarray:
        codes = np.full((len(outputs), len(self)), -1, dtype=np.int8)
        for i, y in enumerate(outputs):
            if not is_missing(y):
                codes[i] = self._bits(i, y)
        return codes

    def _bits(self, i: int, y: Any) -> list[int]:
        if isinstance(y, AbstractSet):
            strangers = [name for name in y if name not in self._code]
            if strangers:
                raise ValueError(f"y[{i}] holds {strangers[0]!r}, which is not a label of {self}.")
            return [int(name in y) for name in self.names]
        if not hasattr(y, "__len__") or isinstance(y, str) or len(y) != len(self):
            raise ValueError(
                f"y[{i}] = {y!r} must be a tuple of {len(self)} values 0, 1 or None, or a set of labels."
            )
        if any(not is_missing(bit) and bit not in (0, 1) for bit in y):
            raise ValueError(f"y[{i}] = {y!r} must hold 0, 1 or None only.")
        return [-1 if is_missing(bit) else int(bit) for bit in y]

    def decode(self, codes: np.ndarray, starts: np.ndarray | None = None) -> list[Any]:
        return [None if bits[0] < 0 else tuple(bits) for bits in np.atleast_2d(codes).tolist()]

    def complete(self, given: np.ndarray, starts: np.ndarray) -> np.ndarray:
        return given.min(axis=1) >= 0

    def known(self, codes: np.ndarray, starts: np.ndarray) -> np.ndarray:
        return codes[:, 0] >= 0

    def changed(self, codes: np.ndarray, others: np.ndarray, starts: np.ndarray) -> np.ndarray:
        return np.any(codes != others, axis=1)

    def agree(self, codes: np.ndarray, given: np.ndarray) -> np.ndarray:
        return agree_in_parts(codes, given)

    def losses(self, codes: np.ndarray, others: np.ndarray, starts: np.ndarray) -> np.ndarray:
        wrong = codes != others
        return wrong.mean(axis=1) if self.loss_name == "hamming" else wrong.any(axis=1).astype(float)

    def dim(self, d: int) -> int:
        return d * len(self)

    def joint_feature(self, x: np.ndarray, y: Any) -> np.ndarray:
        return np.outer(x, self._bits(0, y)).ravel()

    def loss(self, y: Any, y_other: Any) -> float:
        wrong = np.array(self._bits(0, y)) != np.array(self._bits(0, y_other))
        return float(wrong.mean() if self.loss_name == "hamming" else wrong.any())

    def scores(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """The score that each label adds when it is in the set, shape (q,)."""
        return x @ w.reshape(len(x), -1)

    def argmax(self, x: np.ndarray, w: np.ndarray, given: Any = None) -> Any:
        best = (self.scores(x, w) > 0).astype(int)
        if given is not None:
            bits = np.array(self._bits(0, given))
            best = np.where(bits >= 0, bits, best)
        return tuple(best.tolist())

    def loss_augmented_argmax(
        self, x: np.ndarray, y: Any, w: np.ndarray, rng: np.random.Generator | None = None
    ) -> Any:
        scores, bits = self.scores(x, w), np.array(self._bits(0, y))
        if self.loss_name == "hamming":
            # Label by label: being in the set scores s, and being wrong adds 1/q.
            z = scores + (1 - 2 * bits) / len(self) > 0
            return tuple(z.astype(int).tolist())
        if rng is not None and not np.any(w):
            return tuple(self._draw_other(bits, rng).tolist())
        best = (scores > 0).astype(int)
        if np.array_equal(best, bits):  # the best other set flips the label that costs least
            least = np.argmin(np.abs(scores))
            if abs(scores[least]) < 1:
                best[least] = 1 - best[least]
        return tuple(best.tolist())

    def _draw_other(self, bits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        while True:
            drawn = rng.integers(0, 2, size=len(bits))
            if np.any(drawn != bits):
                return drawn
