"""Tables of numbers: missing cells filled with the median, columns standardised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.preprocessing import StandardScaler

from ..quiet import quiet
from .base import Features


class Standardise(Features):
    """Fill NaN with the column's median, then centre and scale each column to unit variance.

    A column without any value is filled with 0; a constant column becomes 0.

    Parameters
    ----------
    scale : False leaves the values as they are and only fills NaN.
    columns : names of the columns, or None. Inputs that have names themselves, data frames, are then taken by
        name, in whatever order and with whatever other columns.

    >>> Standardise().fit_transform([[1.0, 5.0], [3.0, float("nan")]]).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    tag = "standardise"
    allowed: ClassVar = {"scale": [True, False]}
    learned: ClassVar = {"median_": ("f8", ("d",)), "mean_": ("f8", ("d",)), "scale_": ("f8", ("d",))}

    def __init__(self, scale: bool = True, columns: Sequence[str] | None = None):
        self.scale = scale
        self.columns = columns

    def check_params(self) -> None:
        super().check_params()
        names = self.columns
        if names is not None and not (
            isinstance(names, list | tuple)
            and all(isinstance(name, str) for name in names)
            and len(set(names)) == len(names)
        ):
            raise ValueError(f"columns must be distinct names, or None; got {names!r:.80}.")

    def prepare(self, inputs: Any) -> np.ndarray:
        if self.columns is not None and hasattr(inputs, "columns"):
            inputs = self._by_name(inputs)
        table = np.asarray(inputs, dtype=float)
        if table.ndim != 2 or 0 in table.shape:
            raise ValueError(f"inputs must be a table (rows, columns); got the shape {table.shape}.")
        if np.isinf(table).any():
            row, column = np.argwhere(np.isinf(table))[0]
            raise ValueError(f"inputs must be finite or NaN; got infinity in row {row}, column {column}.")
        return table

    def _by_name(self, frame: Any) -> Any:
        missing = [name for name in self.columns or () if name not in frame.columns]
        if missing:
            raise ValueError(
                f"inputs must have the columns of training; {missing[0]!r:.80} is missing"
                + (f", and {len(missing) - 1} more." if len(missing) > 1 else ".")
            )
        return frame[list(self.columns or ())]

    def learn(self, prepared: np.ndarray) -> Self:
        with quiet():  # that all values of a column are missing
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
        if self.columns is not None and len(self.columns) != len(self.median_):
            raise ValueError("columns must have a name per column; the file is damaged.")
        if (self.scale_ <= 0).any():
            raise ValueError("array 'scale_' must be positive; the file is damaged.")
