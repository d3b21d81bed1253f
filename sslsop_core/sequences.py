"""Tag sequences: one tag per token, joint feature of emissions and transitions, inference by Viterbi."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .chains import best_other, best_path, path_score
from .inputs import tokens_of
from .spaces import Name, OutputSpace, agree_in_parts, plain


class Sequences(OutputSpace):
    """A tag for every token of an input of any length.

    Phi(x, y) = sum_t x_t (x) onehot(y_t)  (+)  histogram of transitions. A sequence with `None` at
    some tokens is partly given: those tokens are learned, the others never move.

    Parameters
    ----------
    tags : names of the tags.
    loss : "zero_one" on the whole sequence (the paper's), or "hamming", the share of wrong tags.

    >>> space = Sequences(["N", "V"], loss="hamming")
    >>> space.loss(("N", "V"), ("N", "N"))
    0.5
    """

    kind = "sequences"

    def __init__(self, tags: Sequence[Name], loss: str = "zero_one"):
        if loss not in ("zero_one", "hamming"):
            raise ValueError(f'loss must be "zero_one" or "hamming"; got {loss!r}.')
        self._set_names(tags, "tags")
        self.loss_name = loss

    def encode(self, outputs: Sequence[Any], starts: np.ndarray | None = None) -> np.ndarray:
        if starts is None:
            lengths = [0 if y is None else len(y) for y in outputs]
            starts = np.concatenate([[0], np.cumsum(lengths)])
        codes = np.full(starts[-1], -1, dtype=np.int16)
        for i, y in enumerate(outputs):
            if y is not None:
                codes[starts[i] : starts[i + 1]] = self._tag_codes(i, y, int(starts[i + 1] - starts[i]))
        return codes

    def _tag_codes(self, i: int, y: Any, length: int) -> list[int]:
        if not hasattr(y, "__len__"):
            raise self._unknown(i, y)
        if len(y) != length:
            raise ValueError(f"y[{i}] has {len(y)} tags but x[{i}] has {length} tokens; give one per token.")
        codes = []
        for tag in map(plain, y):
            if tag is not None and not (isinstance(tag, Hashable) and tag in self._code):
                raise ValueError(f"y[{i}] has the tag {tag!r}, which is not in {self}; use None if missing.")
            codes.append(-1 if tag is None else self._code[tag])
        return codes

    def decode(self, codes: np.ndarray, starts: np.ndarray | None = None) -> list[Any]:
        if starts is None:
            starts = np.array([0, len(codes)])
        outputs: list[Any] = []
        for a, b in pairwise(starts.tolist()):
            path = codes[a:b].tolist()
            outputs.append(None if path[0] < 0 else tuple(self.names[c] for c in path))
        return outputs

    def complete(self, given: np.ndarray, starts: np.ndarray) -> np.ndarray:
        return np.minimum.reduceat(given, starts[:-1]) >= 0

    def known(self, codes: np.ndarray, starts: np.ndarray) -> np.ndarray:
        return codes[starts[:-1]] >= 0

    def changed(self, codes: np.ndarray, others: np.ndarray, starts: np.ndarray) -> np.ndarray:
        return np.logical_or.reduceat(codes != others, starts[:-1])

    def take(self, codes: np.ndarray, points: np.ndarray, starts: np.ndarray) -> np.ndarray:
        return codes[tokens_of(starts, points)[0]]

    def agree(self, codes: np.ndarray, given: np.ndarray) -> np.ndarray:
        return agree_in_parts(codes, given)

    def losses(self, codes: np.ndarray, others: np.ndarray, starts: np.ndarray) -> np.ndarray:
        if self.loss_name == "zero_one":
            return self.changed(codes, others, starts).astype(float)
        return np.add.reduceat((codes != others).astype(float), starts[:-1]) / np.diff(starts)

    def dim(self, d: int) -> int:
        return (d + len(self)) * len(self)

    def joint_feature(self, x: np.ndarray, y: Any) -> np.ndarray:
        tags = np.array(self._tag_codes(0, y, len(x)))
        emissions = np.zeros((x.shape[1], len(self)))
        transitions = np.zeros((len(self), len(self)))
        np.add.at(emissions.T, tags, x)
        np.add.at(transitions, (tags[:-1], tags[1:]), 1.0)
        return np.concatenate([emissions.ravel(), transitions.ravel()])

    def loss(self, y: Any, y_other: Any) -> float:
        wrong = [a != b for a, b in zip(y, y_other, strict=True)]
        return float(np.mean(wrong)) if self.loss_name == "hamming" else float(any(wrong))

    def potentials(self, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Unary scores (length, q) and transition scores (q, q) of one input."""
        q = len(self)
        emissions, transitions = np.split(w, [x.shape[1] * q])
        return x @ emissions.reshape(-1, q), transitions.reshape(q, q)

    def argmax(self, x: np.ndarray, w: np.ndarray, given: Any = None) -> Any:
        U, T = self.potentials(x, w)
        if given is not None:
            U = restrict(U, np.array(self._tag_codes(0, given, len(x))))
        path = np.empty(len(U), dtype=np.int16)
        best_path(U, T, path)
        return self.decode(path)[0]

    def loss_augmented_argmax(
        self, x: np.ndarray, y: Any, w: np.ndarray, rng: np.random.Generator | None = None
    ) -> Any:
        U, T = self.potentials(x, w)
        tags = np.array(self._tag_codes(0, y, len(x)), dtype=np.int16)
        path = np.empty(len(U), dtype=np.int16)
        if rng is not None and not np.any(w):
            return self.decode(self._draw_other(tags, rng))[0]
        if self.loss_name == "hamming":
            wrong = np.arange(len(self)) != tags[:, None]
            best_path(U + wrong / len(tags), T, path)
        elif best_other(U, T, tags, path) + 1 <= path_score(U, T, tags):
            path[:] = tags
        return self.decode(path)[0]

    def _draw_other(self, tags: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One of the outputs with the largest loss to `tags`, uniformly."""
        q = len(self)
        if q == 1:
            return tags
        if self.loss_name == "hamming":
            return (tags + rng.integers(1, q, size=len(tags))) % q
        while True:
            drawn = rng.integers(0, q, size=len(tags))
            if np.any(drawn != tags):
                return drawn


def restrict(U: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Unary scores with -inf at the tags that `given` (-1 = free) rules out."""
    ruled_out = (given[:, None] >= 0) & (np.arange(U.shape[1]) != given[:, None])
    return np.where(ruled_out, -np.inf, U)
