"""What every feature pipeline shares: learn from training rows, transform others, be stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from ..bounds import require_between

Learned = tuple[str, tuple[str | int, ...]]  # dtype and shape; equal letters are equal lengths


class Features(TransformerMixin, BaseEstimator, ABC):
    """Raw inputs in, rows of X out.

    The work is cut in two: `prepare` looks at each input alone and learns nothing, so that
    cross-validation does it once; `learn` and `apply` see prepared inputs, and `learn` only those
    of the training rows.
    """

    tag: ClassVar[str]
    allowed: ClassVar[dict[str, Any]] = {}  # parameter -> (lowest, highest), or the listed values
    learned: ClassVar[dict[str, Learned]] = {}

    def prepare(self, inputs: Any) -> Any:
        """Inputs checked and described one by one."""
        return inputs

    @abstractmethod
    def learn(self, prepared: Any) -> Self:
        """Set the arrays named in `learned`."""

    @abstractmethod
    def apply(self, prepared: Any) -> Any:
        """Rows of X for prepared inputs."""

    def fit(self, inputs: Any, y: Any = None) -> Self:
        self.check_params()
        return self.learn(self.prepare(inputs))

    def transform(self, inputs: Any) -> Any:
        self._require_learned()
        return self.apply(self.prepare(inputs))

    def views(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Two sets of columns that describe the input in different ways, where there are such."""
        return None

    def columns_in(self, whole: Self) -> np.ndarray | None:
        """Where the columns lie among those of a pipeline that saw more rows; None: the same columns."""
        return None

    def check_params(self) -> None:
        """Refuse parameters outside `allowed`."""
        for name, values in self.allowed.items():
            value = getattr(self, name)
            if isinstance(values, list):
                if not any(value is v or (type(value) is type(v) and value == v) for v in values):
                    raise ValueError(f"{name} must be one of {', '.join(map(repr, values))}; got {value!r}.")
                continue
            require_between(name, value, *values)

    def _require_learned(self) -> None:
        missing = [name for name in self.learned if not hasattr(self, name)]
        if missing:
            raise ValueError(f"{type(self).__name__} is not fitted; call fit on the training inputs first.")

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Parameters as JSON-able data and learned arrays by name: all that `from_state` needs."""
        self._require_learned()
        meta = {"features": self.tag, "params": self.get_params(deep=False)}
        return meta, {name: getattr(self, name) for name in self.learned}

    def _load(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take learned arrays that come from outside, after checking them."""
        if set(arrays) != set(self.learned):
            raise ValueError(
                f"arrays of {self.tag!r} features must be {sorted(self.learned)}; got {sorted(arrays)}."
            )
        lengths: dict[str, int] = {}
        for name, (dtype, shape) in self.learned.items():
            array = arrays[name]
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != len(shape):
                raise ValueError(f"array {name!r} must be {dtype} with {len(shape)} axes; damaged file.")
            for axis, length in zip(shape, array.shape, strict=True):
                expected = lengths.setdefault(axis, length) if isinstance(axis, str) else axis
                if length != expected or not length:
                    raise ValueError(f"array {name!r} has the shape {array.shape}; the file is damaged.")
            if not np.isfinite(array).all():
                raise ValueError(f"array {name!r} must hold finite numbers only; the file is damaged.")
            # One memory layout: matrix products may differ in the last bit between layouts.
            setattr(self, name, np.ascontiguousarray(array))
        self.check_learned()

    def check_learned(self) -> None:
        """Refuse loaded arrays of the right shape and the wrong content."""


def as_images(inputs: Any) -> np.ndarray:
    """Grey images as one uint8 array (n, h, w), or a ValueError."""
    images = np.asarray(inputs)
    if images.ndim != 3 or images.dtype != np.uint8 or 0 in images.shape[1:]:
        raise ValueError(
            "images must be one uint8 array of shape (n, height, width); "
            f"got {images.dtype} of shape {images.shape}. Convert to grey and to one size first."
        )
    return images
