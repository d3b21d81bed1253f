"""What every estimator here shares: the record of a turn, how outputs leave, the score, checks of numbers."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .door import check_inputs
from .inputs import tokens_of
from .spaces import ListedSpace, OutputSpace


@dataclass(frozen=True, eq=False)
class Iteration:
    """What one turn of training did.

    Attributes
    ----------
    t : number of the turn, from 1.
    objective : what is minimised, after the turn; for SSLSOP eq. 9 over the neighborhoods reached.
    n_changed : outputs that moved in this turn.
    n_unreached : points without an output.
    outputs : compact codes of all outputs after the turn, -1 where there is none.
    """

    t: int
    objective: float
    n_changed: int
    n_unreached: int
    outputs: np.ndarray


class StructuredEstimator(ClassifierMixin, BaseEstimator):
    """The part of scikit-learn's interface that does not depend on how outputs are learned."""

    space: OutputSpace | None
    space_: OutputSpace
    history_: list[Iteration]

    def _outside(self, codes: np.ndarray, starts: np.ndarray) -> Any:
        """Outputs as the user writes them: an array for classes and leaves, else a list."""
        outputs = self.space_.decode(codes, starts)
        return as_array(outputs) if isinstance(self.space_, ListedSpace) else outputs

    @property
    def summary(self) -> str:
        """What the method minimises, which choices are ours, when it wins or loses: for the app."""
        return inspect.cleandoc(type(self).__doc__ or "").partition("\nParameters\n")[0].strip()

    @property
    def classes_(self) -> np.ndarray:
        check_is_fitted(self, "history_")
        return as_array(list(self.space_.names))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """1 - average loss (eq. 28) over the points whose outputs are given; the accuracy for classes."""
        new, space = check_inputs(self, X, self.space_, reset=False), self.space_
        true = space.encode(list(y), new.starts)
        judged = np.flatnonzero(space.complete(true, new.starts))
        if len(judged) == 0:
            raise ValueError("y must hold at least one complete output to judge by; all are missing.")
        predicted = space.encode(list(self.predict(X)), new.starts)
        true, predicted = (space.take(codes, judged, new.starts) for codes in (true, predicted))
        losses = space.losses(true, predicted, tokens_of(new.starts, judged)[1])
        weights = None if sample_weight is None else np.asarray(sample_weight)[judged]
        return float(1 - np.average(losses, weights=weights))

    def _check_space(self) -> None:
        if self.space is not None and not isinstance(self.space, OutputSpace):
            raise ValueError(
                f"space must be an output space, Classes([...]) say, or None; got {self.space!r}."
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def check_number(name: str, value: Any, least: float, strictly: bool = False, auto: bool = False) -> None:
    """Refuse what is not a finite number of at least (strictly: above) `least`."""
    sound = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(float(value))
    if not sound or value < least or (strictly and value == least):
        rule = f"a finite number {'above' if strictly else 'of at least'} {least:g}"
        hint = ' or "auto"' if auto else ""
        raise ValueError(f"{name} must be {rule}{hint}; got {value!r}.")


def check_count(name: str, value: Any, least: int = 1) -> None:
    """Refuse what is not a whole number of at least that."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}.")


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuse what is not one of the choices."""
    if isinstance(value, float) or value not in choices:  # 1.0 equals True, and is none
        listed = ", ".join(f'"{choice}"' if isinstance(choice, str) else str(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}.")


def compact(codes: np.ndarray, q: int) -> np.ndarray:
    """The codes in the smallest integers that hold q of them and -1."""
    return codes.astype(np.int8 if q <= 127 else np.int16 if q <= 32767 else np.int32)


def as_array(outputs: list[Any]) -> np.ndarray:
    """An array of the outputs' own type if they share one, of objects otherwise."""
    kinds = {type(output) for output in outputs}
    if len(kinds) == 1 and kinds <= {int, float, str, bool}:
        return np.array(outputs)
    array = np.empty(len(outputs), dtype=object)
    array[:] = outputs
    return array
