"""Tables of numbers: missing cells filled with the median, columns standardised."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.preprocessing import StandardScaler

from .base import Features


class Standardise(Features):
    """Fill NaN with the column's median, then centre and scale each column to unit variance.

    A column without any value is filled with 0; a constant column becomes 0.

    Parameters
    ----------
    scale : False leaves the values as they are and only fills NaN.

    >>> Standardise().fit_transform([[1.0, 5.0], [3.0, float("nan")]]).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    tag = "standardise"
    allowed: ClassVar = {"scale": [True, False]}
    learned: ClassVar = {"median_": ("f8", ("d",)), "mean_": ("f8", ("d",)), "scale_": ("f8", ("d",))}

    def __init__(self, scale: bool = True):
        self.scale = scale

    def prepare(self, inputs: Any) -> np.ndarray:
        table = np.asarray(inputs, dtype=float)
        if table.ndim != 2 or 0 in table.shape:
            raise ValueError(f"inputs must be a table (rows, columns); got the shape {table.shape}.")
        if np.isinf(table).any():
            row, column = np.argwhere(np.isinf(table))[0]
            raise ValueError(f"inputs must be finite or NaN; got infinity in row {row}, column {column}.")
        return table

    def learn(self, prepared: np.ndarray) -> Self:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="All-NaN slice", category=RuntimeWarning)
            self.median_ = np.nan_to_num(np.nanmedian(prepared, axis=0))
        self.mean_, self.scale_ = np.zeros(prepared.shape[1]), np.ones(prepared.shape[1])
        if self.scale:
            scaler = StandardScaler().fit(self._filled(prepared))
            self.mean_, self.scale_ = scaler.mean_, scaler.scale_
        return self

    def _filled(self, table: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(table), self.median_, table)

    def apply(self, prepared: np.ndarray) -> np.ndarray:
        if prepared.shape[1] != len(self.median_):
            raise ValueError(
                f"inputs must have the {len(self.median_)} columns of training; got {prepared.shape[1]}."
            )
        return (self._filled(prepared) - self.mean_) / self.scale_

    def check_learned(self) -> None:
        if (self.scale_ <= 0).any():
            raise ValueError("array 'scale_' must be positive; the file is damaged.")
