"""Inputs as one matrix of tokens: a sequence has several rows, every other point has one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from .drawing import dense_keys, in_order, sparse_keys

Matrix = Any  # np.ndarray or scipy.sparse.csr_matrix


@dataclass(frozen=True, eq=False)
class Inputs:
    """n inputs: the tokens of input i are rows starts[i] .. starts[i+1] of `rows`.

    `rows` is a C-contiguous array or a CSR matrix, float32 or float64.
    """

    rows: Matrix
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def d(self) -> int:
        return self.rows.shape[1]

    @cached_property
    def lengths(self) -> np.ndarray:
        return np.diff(self.starts)

    @cached_property
    def square_norms(self) -> np.ndarray:
        """|x_t|^2 for every token."""
        if sp.issparse(self.rows):
            return np.asarray(self.rows.multiply(self.rows).sum(axis=1)).ravel().astype(self.rows.dtype)
        return np.einsum("ij,ij->i", self.rows, self.rows)

    @cached_property
    def owners(self) -> np.ndarray:
        """The input that each token belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def keys(self) -> np.ndarray:
        """A number per input, made of its features alone: draws that use it do not depend on the order."""
        bits = np.uint32 if self.rows.dtype == np.float32 else np.uint64
        if sp.issparse(self.rows):
            return sparse_keys(self.rows.data.view(bits), self.rows.indices, self.rows.indptr, self.starts)
        return dense_keys(self.rows.view(bits), self.starts)

    def in_order(self) -> Inputs:
        """All inputs by their keys: what is made of them does not depend on the order of the data."""
        return self.take(in_order(self.keys, np.arange(len(self))))

    def take(self, points: np.ndarray) -> Inputs:
        """The chosen inputs."""
        tokens, starts = tokens_of(self.starts, points)
        return Inputs(self.rows[tokens], starts)

    def only(self, tokens: np.ndarray) -> Inputs:
        """The chosen tokens, each as an input of its own."""
        return Inputs(self.rows[tokens], np.arange(len(tokens) + 1, dtype=np.int64))

    def followed_by(self, others: Inputs, points: np.ndarray) -> Inputs:
        """These inputs, then the chosen points of others."""
        tokens, begins = tokens_of(others.starts, points)
        starts = np.concatenate([self.starts, self.starts[-1] + begins[1:]])
        if sp.issparse(self.rows):
            return Inputs(sp.vstack([self.rows, others.rows[tokens]], format="csr"), starts)
        return Inputs(np.vstack([self.rows, others.rows[tokens]]), starts)

    def sums(self) -> Matrix:
        """One vector per input: the sum of its tokens."""
        if len(self) == self.rows.shape[0]:
            return self.rows
        if sp.issparse(self.rows):
            ones = np.ones(self.rows.shape[0], dtype=self.rows.dtype)
            picks = sp.csr_matrix((ones, np.arange(len(ones)), self.starts), shape=(len(self), len(ones)))
            return (picks @ self.rows).tocsr()
        return np.add.reduceat(self.rows, self.starts[:-1], axis=0)


def single_rows(rows: Matrix) -> Inputs:
    """Inputs of one token each, from a validated matrix."""
    if sp.issparse(rows):
        rows = rows.tocsr()
        if not rows.has_sorted_indices:
            rows = rows.sorted_indices()  # a copy: the caller's may be read-only, and is not ours to change
        if rows.indices.dtype != np.int32:
            indices, indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
            rows = sp.csr_matrix((rows.data, indices, indptr), shape=rows.shape)
    else:
        rows = np.ascontiguousarray(rows)
    return Inputs(rows, np.arange(rows.shape[0] + 1, dtype=np.int64))


def token_rows(X: Sequence[Any], d: int | None = None) -> Inputs:
    """Inputs of several tokens each, from a list of (length, d) arrays or sparse matrices."""
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__") or len(X) == 0:
        raise ValueError("X must be a non-empty list of (length, d) arrays, one per sequence.")
    blocks = [_token_block(x, i) for i, x in enumerate(X)]
    widths = {block.shape[1] for block in blocks} | ({d} if d is not None else set())
    if len(widths) > 1:
        raise ValueError(f"X must have the same number of features in every sequence; got {sorted(widths)}.")
    if len({sp.issparse(block) for block in blocks}) > 1:
        raise ValueError("X must be all arrays or all sparse matrices; got both. Convert one kind.")
    starts = np.concatenate([[0], np.cumsum([block.shape[0] for block in blocks])]).astype(np.int64)
    if sp.issparse(blocks[0]):
        return Inputs(single_rows(sp.vstack(blocks, format="csr")).rows, starts)
    return Inputs(np.ascontiguousarray(np.vstack(blocks)), starts)


def _token_block(x: Any, i: int) -> Matrix:
    try:
        return check_array(x, accept_sparse="csr", dtype=[np.float64, np.float32])
    except ValueError as error:
        raise ValueError(f"X[{i}] must be a (length, d) array of finite numbers: {error}") from error


def tokens_of(starts: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Token indices of the chosen points, and where each point begins among them."""
    lengths = np.diff(starts)[points]
    begins = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.repeat(starts[points] - begins[:-1], lengths) + np.arange(begins[-1]), begins
