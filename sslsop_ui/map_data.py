"""What the map needs, packed small: geometry once, then one byte or two per point and iteration."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .palette import COLORS

MOST_POINTS = 10_000
LIVE_BYTES = 100_000  # of one update while training runs
THUMB_SIDE = 16


def pack(array: np.ndarray, dtype: Any) -> str:
    return b64encode(np.ascontiguousarray(array, dtype=dtype).tobytes()).decode()


@dataclass(frozen=True, eq=False)
class Geometry:
    """Where the points lie and who is whose neighbor.

    Attributes
    ----------
    xy : (n, 2) coordinates of the points shown.
    neighbors : (n, k) positions among the points shown; k = 0 before the graph is known.
    shown : indices of the points shown, when the map is a sample; None if all are.
    flat : whether the axes mean something, so that the picture must not be stretched.
    """

    xy: np.ndarray
    neighbors: np.ndarray
    names: Sequence[str]
    shown: np.ndarray | None = None
    flat: bool = False
    images: np.ndarray | None = None
    version: str = field(init=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha256(pack(self.xy, "<f4").encode())
        digest.update(pack(self.neighbors, "<u4").encode())
        digest.update("\0".join(self.names).encode())
        object.__setattr__(self, "version", digest.hexdigest()[:16])

    def __len__(self) -> int:
        return len(self.xy)

    def packed(self) -> dict[str, Any]:
        low = self.xy.min(axis=0)
        span = np.maximum(self.xy.max(axis=0) - low, 1e-9)
        return {
            "version": self.version,
            "n": len(self.xy),
            "k": self.neighbors.shape[1],
            "xy": pack((self.xy - low) / span * 65535, "<u2"),
            "aspect": float(np.clip(span[0] / span[1], 0.2, 5.0)),
            "neighbors": pack(self.neighbors, "<u4"),
            "stretch": not self.flat,
            "names": list(self.names),
            "colors": COLORS,
            "ids": None if self.shown is None else self.shown.tolist(),
            "thumbs": None if self.images is None else _thumbs(self.images),
        }


def _thumbs(images: np.ndarray) -> dict[str, Any]:
    """Images small enough to travel with the map, every so many pixels."""
    stride = -(-max(images.shape[1:]) // THUMB_SIDE)
    small = images[:, ::stride, ::stride]
    return {"width": small.shape[2], "height": small.shape[1], "pixels": pack(small, "<u1")}


def sample(n: int, labeled: np.ndarray, most: int = MOST_POINTS) -> np.ndarray | None:
    """Which points to show of too many: labelled ones first (at most half), then any; None: all."""
    if n <= most:
        return None
    rng = np.random.default_rng(0)
    first = rng.permutation(np.flatnonzero(labeled))[: most // 2]
    rest = rng.permutation(np.setdiff1d(np.arange(n), first))[: most - len(first)]
    return np.sort(np.concatenate([first, rest]))


def among_shown(neighbors: np.ndarray, shown: np.ndarray | None) -> np.ndarray:
    """Neighbors as positions among the points shown; a neighbor left out becomes the point itself."""
    if shown is None:
        return neighbors
    place = np.full(int(neighbors.max()) + 1, -1)
    place[shown] = np.arange(len(shown))
    rows = place[neighbors[shown]]
    return np.where(rows >= 0, rows, np.arange(len(shown))[:, None])


def frames(
    symbols: Sequence[np.ndarray],
    changed: Sequence[np.ndarray],
    wrong: Sequence[np.ndarray],
    *,
    first: int,
    run: str,
    n_names: int,
) -> dict[str, Any]:
    """Iterations `first`, `first` + 1, ... of a run: symbol, whether it just changed, whether it is wrong."""
    size = 1 if n_names < 62 else 2
    high = 1 << (8 * size - 1)
    cells = [
        (symbol + 1) | np.where(moved, high, 0) | np.where(bad, high >> 1, 0)
        for symbol, moved, bad in zip(symbols, changed, wrong, strict=True)
    ]
    return {
        "run": run,
        "first": first,
        "count": len(cells),
        "bytes": size,
        "cells": pack(np.concatenate(cells), f"<u{size}"),
    }


def live_count(n: int, n_names: int) -> int:
    """How many iterations fit into one live update."""
    return max(1, LIVE_BYTES // (n * (1 if n_names < 62 else 2)))


def overlay(
    labeled: np.ndarray,
    *,
    truth: np.ndarray | None = None,
    margins: np.ndarray | None = None,
    texts: Sequence[str] | None = None,
    selection: Sequence[int] | None = None,
    sources: Sequence[tuple[int, float]] = (),
    selectable: bool = False,
    live: bool = False,
    note: str = "",
) -> dict[str, Any]:
    """What lies over the points; `truth` holds symbols, -1 where unknown; `margins` NaN where none."""
    return {
        "labeled": pack(labeled, "<u1"),
        "truth": None if truth is None or truth.max(initial=-1) < 0 else pack(truth + 1, "<u2"),
        "margins": None if margins is None else pack(_levels(margins), "<u1"),
        "texts": None if texts is None else list(texts),
        "selection": None if selection is None else list(selection),
        "sources": [[int(i), float(weight)] for i, weight in sources],
        "selectable": selectable,
        "live": live,
        "note": note,
    }


def _levels(margins: np.ndarray) -> np.ndarray:
    """Margins as 0..255 by rank: their scale depends on eta and C and says nothing by itself."""
    order = np.argsort(np.argsort(np.nan_to_num(margins, nan=-np.inf), kind="stable"), kind="stable")
    return order * 255 / max(len(order) - 1, 1)
