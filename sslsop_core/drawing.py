"""Random draws inside compiled loops, whatever the order of the loops and of the data."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def mix(x):
    """Spread the bits of a 64-bit number over all of it (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(nogil=True, cache=True)
def draw(seed, key, b, n):
    """An integer in 0..n-1, a pure function of the integers (seed, key, b)."""
    x = np.uint64(seed) + np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mix(x + np.uint64(b) * np.uint64(0xD1B54A32D192ED03)) % np.uint64(n))


def in_order(keys: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The points by their keys: an order that is the same in whatever order the data come."""
    return points[np.argsort(keys[points], kind="stable")]


def some_of(keys: np.ndarray, points: np.ndarray, most: int, seed: int) -> np.ndarray:
    """The points, ascending, or so many of them, drawn by their keys."""
    if len(points) <= most:
        return points
    return np.sort(points[np.argsort(_shaken(keys[points], seed), kind="stable")[:most]])


@njit(cache=True)
def _shaken(keys, seed):
    return mix(keys + np.uint64(seed))


@njit(nogil=True, cache=True)
def pair_key(key_i, key_j):
    """One key for the neighbor j of neighborhood i."""
    return key_i * np.uint64(0x2545F4914F6CDD1D) + key_j


@njit(nogil=True, cache=True)
def dense_keys(bits, starts):
    """A key per input from the bits of its non-zero features, in the order of its tokens."""
    keys = np.zeros(len(starts) - 1, dtype=np.uint64)
    for i in range(len(keys)):
        for t in range(starts[i], starts[i + 1]):
            for c in range(bits.shape[1]):
                if bits[t, c] != 0:
                    keys[i] = mix(keys[i] + np.uint64(bits[t, c]) + np.uint64(c + 1))
    return keys


@njit(nogil=True, cache=True)
def sparse_keys(bits, indices, indptr, starts):
    """`dense_keys` of the same features in CSR rows."""
    keys = np.zeros(len(starts) - 1, dtype=np.uint64)
    for i in range(len(keys)):
        for t in range(starts[i], starts[i + 1]):
            for e in range(indptr[t], indptr[t + 1]):
                keys[i] = mix(keys[i] + np.uint64(bits[e]) + np.uint64(indices[e] + 1))
    return keys
