"""The finished run of the first page, read from a file: nothing is trained for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from .frame import ASSETS
from .map_data import Geometry, frames, overlay


@dataclass(frozen=True, eq=False)
class Demo:
    """Map data of the run, and what there is to say about it."""

    geometry: Geometry
    frames: dict[str, Any]
    overlay: dict[str, Any]
    n: int
    n_labeled: int
    right: float


@cache
def demo() -> Demo:
    with np.load(ASSETS / "home.npz", allow_pickle=False) as packed:
        layout, neighbors, symbols, truth, images = (
            packed[key] for key in ("layout", "neighbors", "symbols", "truth", "images")
        )
    names = [str(digit) for digit in range(10)]
    labeled = symbols[0] >= 0
    changed = [np.zeros(len(truth), dtype=bool), *(symbols[1:] != symbols[:-1])]
    wrong = (symbols >= 0) & (symbols != truth)
    return Demo(
        Geometry(layout.astype(float), neighbors, names, images=images),
        frames(symbols.astype(int), changed, wrong, first=0, run="home", n_names=len(names)),
        overlay(labeled, truth=truth.astype(int)),
        len(truth),
        int(labeled.sum()),
        float((~wrong[-1])[~labeled].mean()),
    )
