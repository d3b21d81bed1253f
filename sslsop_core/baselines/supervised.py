"""The controls: one structured predictor trained on the labelled points alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ..inputs import Inputs
from ..spaces import OutputSpace
from ..ssvm import TAUS
from .base import LOG_LOSS, Baseline, Potentials, check_lambda, linear_potentials, objective_of


class SupervisedSSVM(Baseline):
    """Structural SVM on the labelled points: what is won without the unlabelled ones.

    Minimises lam/2 |w|^2 + 1/l sum_i max_z [ w.(Phi(x_i,z) - Phi(x_i,y_i)) + Delta(y_i,z) ] over the l
    labelled points (margin rescaling).

    Choices of ours: the hinge is smoothed (tau = 0.5, then 0.1) and minimised with L-BFGS; features are
    scaled to unit mean square norm and a constant is appended.

    Wins where many outputs are given, or the unlabelled points mislead; loses where they tell which
    points belong together.

    Parameters
    ----------
    space : output space; None infers `Classes` from y.
    lam : weight of |w|^2, or "auto": by 3-fold cross-validation on the labelled points.
    random_state : seed of the folds.
    """

    search_space: ClassVar = {"lam": [1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5]}
    _loss: ClassVar[dict[str, Any]] = {"margin": True, "taus": TAUS}

    def __init__(self, space: OutputSpace | None = None, *, lam: float | str = "auto", random_state: Any = 0):
        self.space = space
        self.lam = lam
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_space()
        check_lambda(self.lam)

    def _turns(self) -> Iterator[float]:
        train = self._train
        rows = self._coordinates(self._inputs)[train.tokens]
        self.lam_, self.weights_ = self._fit_labeled(rows, self.lam, **self._loss)
        yield objective_of(
            self.space_, rows, train.starts, train.codes, self.weights_, self.lam_, **self._loss
        )

    def _potentials(self, inputs: Inputs) -> Potentials:
        return linear_potentials(self.space_, self._coordinates(inputs), self.weights_)


class SupervisedCRF(SupervisedSSVM):
    """Conditional random field on the labelled points; for classes, multinomial logistic regression.

    Minimises lam/2 |w|^2 - 1/l sum_i log p(y_i | x_i), with p(y | x) proportional to exp(w.Phi(x, y)).
    Delta takes no part in training.

    Choices of ours: L-BFGS; features are scaled to unit mean square norm and a constant is appended.

    Wins and loses as the structural SVM does; often ahead of it on sequences, where the 0-1 margin
    on whole sequences says little about single tags.

    Parameters
    ----------
    space : output space; None infers `Classes` from y.
    lam : weight of |w|^2, or "auto": by 3-fold cross-validation on the labelled points.
    random_state : seed of the folds.
    """

    _loss = LOG_LOSS
