"""One rule for numbers that come from outside: between two bounds, whole where the bounds are."""

from __future__ import annotations

from typing import Any

import numpy as np


def require_between(name: str, value: Any, low: float, high: float, note: str = "") -> None:
    """Refuse a value outside [low, high]; bounds written as whole numbers ask for a whole number.

    >>> require_between("noise", 2, 0.0, 1.0)
    Traceback (most recent call last):
    ValueError: noise must be a number between 0.0 and 1.0; got 2.
    """
    whole = isinstance(low, int)
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    if not isinstance(value, kinds) or isinstance(value, bool) or not low <= value <= high:
        kind = "a whole number" if whole else "a number"
        raise ValueError(f"{name} must be {kind} between {low} and {high}{note}; got {value!r}.")
