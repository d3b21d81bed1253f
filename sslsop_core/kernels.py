"""Inner products of inputs: the Gram blocks of neighborhoods and the products with new points.

Features enter the learner only here. A kernel is K(x, x') = x.x' or exp(-gamma |x - x'|^2), plus 1
for an intercept; the histograms of transitions of two sequences have an inner product of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numba import njit

from .blas import one_blas_thread
from .inputs import Inputs
from .parallel import over_chunks
from .storage import zeros


@dataclass(frozen=True)
class Kernel:
    """`gamma` is None for the linear kernel; `scale` divides the linear product, `intercept` adds 1.

    `transitions` multiplies the inner product of histograms of transitions.
    """

    gamma: float | None
    intercept: bool
    scale: float = 1.0
    transitions: float = 1.0

    def finish(self, products, norms_a, norms_b):
        """Turn plain inner products (a, b) into kernel values, in place."""
        if self.gamma is None:
            products /= self.scale
        else:
            products *= -2
            products += norms_a[:, None] + norms_b
            np.exp(-self.gamma * np.maximum(products, 0, out=products), out=products)
        if self.intercept:
            products += 1
        return products

    def matrix(self, a: Inputs, b: Inputs) -> np.ndarray:
        """K between all tokens of a and all tokens of b, dense."""
        products = a.rows @ b.rows.T
        products = products.toarray() if sp.issparse(products) else products
        return self.finish(products, a.square_norms, b.square_norms)


def _arrays(inputs: Inputs) -> tuple[np.ndarray, ...]:
    """What the compiled functions need of the rows: dense, or CSR's three arrays."""
    if sp.issparse(inputs.rows):
        return inputs.rows.data, inputs.rows.indices, inputs.rows.indptr
    return (inputs.rows,)


def block_sizes(inputs: Inputs, neighbors: np.ndarray) -> np.ndarray:
    """The number of entries of every Gram block."""
    return inputs.lengths[neighbors].sum(axis=1) ** 2


def gram_blocks(
    inputs: Inputs,
    neighbors: np.ndarray,
    kernel: Kernel,
    n_jobs: int | None,
    on_disk: bool = False,
    progress: Callable[[float], None] | None = None,
):
    """G_i, the kernel among the tokens of N_i, for every i.

    Returns
    -------
    blocks : flat array; block i is blocks[at[i]:at[i+1]], a square in row order.
    at : (n + 1,) int64.
    """
    at = np.concatenate([[0], np.cumsum(block_sizes(inputs, neighbors))]).astype(np.int64)
    blocks = zeros(at[-1], inputs.rows.dtype, on_disk)
    gamma = -1.0 if kernel.gamma is None else kernel.gamma
    fill = _fill_sparse if sp.issparse(inputs.rows) else _fill_dense
    with one_blas_thread():
        over_chunks(
            fill, len(neighbors), *_arrays(inputs), inputs.d, inputs.starts, inputs.square_norms,
            neighbors, at, gamma, kernel.scale, kernel.intercept, blocks,
            n_jobs=n_jobs, work=at[-1] * min(inputs.d, 100), progress=progress,
        )  # fmt: skip
    return blocks, at


@njit(nogil=True, cache=True)
def _token_list(neighbors_i, starts):
    count = 0
    for j in neighbors_i:
        count += starts[j + 1] - starts[j]
    tokens = np.empty(count, dtype=np.int64)
    count = 0
    for j in neighbors_i:
        for token in range(starts[j], starts[j + 1]):
            tokens[count] = token
            count += 1
    return tokens


@njit(nogil=True, cache=True)
def _finish(product, norm_a, norm_b, gamma, scale, intercept):
    value = product / scale
    if gamma >= 0:
        value = np.exp(-gamma * max(norm_a + norm_b - 2 * product, 0.0))
    return value + 1.0 if intercept else value


@njit(nogil=True, cache=True)
def _fill_dense(lo, hi, X, d, starts, norms, neighbors, at, gamma, scale, intercept, blocks):
    for i in range(lo, hi):
        tokens = _token_list(neighbors[i], starts)
        m = len(tokens)
        gathered = np.empty((m, d), dtype=X.dtype)
        for a in range(m):
            gathered[a] = X[tokens[a]]
        products = np.dot(gathered, gathered.T)
        for a in range(m):
            for b in range(a + 1):
                value = _finish(products[a, b], norms[tokens[a]], norms[tokens[b]], gamma, scale, intercept)
                blocks[at[i] + a * m + b] = value
                blocks[at[i] + b * m + a] = value


@njit(nogil=True, cache=True)
def _fill_sparse(
    lo, hi, data, indices, indptr, d, starts, norms, neighbors, at, gamma, scale, intercept, blocks
):
    spread = np.zeros(d, dtype=data.dtype)  # one row written out, so that products are look-ups
    for i in range(lo, hi):
        tokens = _token_list(neighbors[i], starts)
        m = len(tokens)
        for a in range(m):
            for e in range(indptr[tokens[a]], indptr[tokens[a] + 1]):
                spread[indices[e]] = data[e]
            for b in range(a + 1):
                product = 0.0
                for e in range(indptr[tokens[b]], indptr[tokens[b] + 1]):
                    product += data[e] * spread[indices[e]]
                value = _finish(product, norms[tokens[a]], norms[tokens[b]], gamma, scale, intercept)
                blocks[at[i] + a * m + b] = value
                blocks[at[i] + b * m + a] = value
            for e in range(indptr[tokens[a]], indptr[tokens[a] + 1]):
                spread[indices[e]] = 0.0


def mean_scores(new: Inputs, inputs: Inputs, neighbors, at, A, nearest, share, kernel: Kernel, n_jobs):
    """sum_i share_i sum_j K(x, x_j) A_ij over the nearest neighborhoods i of each new token x.

    Neighborhoods of neighboring points overlap: coefficients are summed per distinct token first, so
    that each inner product is taken once.
    """
    scores = np.zeros((new.rows.shape[0], A.shape[1]), dtype=A.dtype)
    gamma = -1.0 if kernel.gamma is None else kernel.gamma
    score = _mean_scores_sparse if sp.issparse(inputs.rows) else _mean_scores_dense
    with one_blas_thread():
        over_chunks(
            score, len(new), *_arrays(new), new.starts, new.square_norms, *_arrays(inputs), inputs.d,
            inputs.starts, inputs.square_norms, neighbors, at, A, nearest, share, gamma, kernel.scale,
            kernel.intercept, scores, n_jobs=n_jobs, work=float(nearest.size * neighbors.shape[1] * inputs.d),
        )  # fmt: skip
    return scores


@njit(nogil=True, cache=True)
def _mixture(nearest_x, share_x, neighbors, starts, at, A):
    """The distinct tokens in the neighborhoods nearest_x, and their summed coefficients."""
    k, q = neighbors.shape[1], A.shape[1]
    count = 0
    for i in nearest_x:
        count += at[(i + 1) * k] - at[i * k]
    tokens = np.empty(count, dtype=np.int64)
    rows = np.empty(count, dtype=np.int64)
    weights = np.empty(count, dtype=A.dtype)
    count = 0
    for s in range(len(nearest_x)):
        i = nearest_x[s]
        for r in range(k):
            first = starts[neighbors[i, r]] - at[i * k + r]
            for row in range(at[i * k + r], at[i * k + r + 1]):
                tokens[count], rows[count], weights[count] = first + row, row, share_x[s]
                count += 1
    order = np.argsort(tokens, kind="mergesort")
    distinct = np.empty(count, dtype=np.int64)
    sums = np.zeros((count, q), dtype=A.dtype)
    last = -1
    for e in order:
        if last < 0 or tokens[e] != distinct[last]:
            last += 1
            distinct[last] = tokens[e]
        for y in range(q):
            sums[last, y] += weights[e] * A[rows[e], y]
    return distinct[: last + 1], sums[: last + 1]


@njit(nogil=True, cache=True)
def _mean_scores_dense(
    lo, hi, X_new, starts_new, norms_new, X, d, starts, norms, neighbors, at, A, nearest, share, gamma, scale,
    intercept, scores,
):  # fmt: skip
    for x in range(lo, hi):
        tokens, sums = _mixture(nearest[x], share[x], neighbors, starts, at, A)
        gathered = np.empty((len(tokens), d), dtype=X.dtype)
        for a in range(len(tokens)):
            gathered[a] = X[tokens[a]]
        for t in range(starts_new[x], starts_new[x + 1]):
            products = np.dot(gathered, X_new[t])
            for a in range(len(tokens)):
                value = _finish(products[a], norms_new[t], norms[tokens[a]], gamma, scale, intercept)
                for y in range(A.shape[1]):
                    scores[t, y] += value * sums[a, y]


@njit(nogil=True, cache=True)
def _mean_scores_sparse(
    lo, hi, data_new, indices_new, indptr_new, starts_new, norms_new, data, indices, indptr, d, starts, norms,
    neighbors, at, A, nearest, share, gamma, scale, intercept, scores,
):  # fmt: skip
    spread = np.zeros(d, dtype=data.dtype)
    for x in range(lo, hi):
        tokens, sums = _mixture(nearest[x], share[x], neighbors, starts, at, A)
        for t in range(starts_new[x], starts_new[x + 1]):
            for e in range(indptr_new[t], indptr_new[t + 1]):
                spread[indices_new[e]] = data_new[e]
            for a in range(len(tokens)):
                product = 0.0
                for e in range(indptr[tokens[a]], indptr[tokens[a] + 1]):
                    product += data[e] * spread[indices[e]]
                value = _finish(product, norms_new[t], norms[tokens[a]], gamma, scale, intercept)
                for y in range(A.shape[1]):
                    scores[t, y] += value * sums[a, y]
            for e in range(indptr_new[t], indptr_new[t + 1]):
                spread[indices_new[e]] = 0.0
