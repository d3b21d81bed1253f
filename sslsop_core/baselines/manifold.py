"""A structural SVM that learns the missing outputs with it, smooth over a neighborhood graph."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from ..estimator import check_choice, check_count, check_number
from ..inference import allowed_codes, best_codes
from ..inputs import Inputs, Matrix
from ..labelsets import LabelSets
from ..neighbors import Search, build_graph, inverse_frequencies, shares, weighted_sums
from ..sequences import Sequences
from ..shared import fit_points
from ..spaces import ListedSpace, OutputSpace
from ..ssvm import TAUS, fit_weights
from .base import (
    Baseline,
    Potentials,
    check_graph_parameters,
    check_lambda,
    linear_potentials,
    part_of,
)
from .generative import indicators
from .output_steps import OutputStep, share_matrix, step_for

# Output steps between two trainings of the predictor: all points move at once, so once is not enough.
SWEEPS = 3
# Steps of label propagation; outputs travel one edge a step.
PROPAGATION_STEPS = 50

Table = tuple[np.ndarray, np.ndarray]


class ManifoldSSVM(Baseline):
    """Manifold structural SVM with slack outputs, our implementation after Jiang et al. (2015).

    Minimises over w and the missing outputs y: lam/2 |w|^2 + 1/n sum_i max_z [ w.(Phi(x_i,z) -
    Phi(x_i,y_i)) + Delta(y_i,z) ] + C1/n sum_i sum_j P_ij Delta(y_i,y_j), with P the heat weights of the k
    nearest neighbors, rows summing to 1, and the given outputs held fixed. Outputs and predictor take
    turns.

    Choices of ours: the constants and the row normalisation; w is trained to the end in every turn; the
    output step minimises the objective itself (`output_step="paper"` holds z fixed, which relabels every
    point with a margin below 1 to its runner-up); sequences under Hamming loss vote token by token and
    take the best of three candidates; the start is chosen on held-out labelled points; it ends as soon as
    no output moves, so that C1=0 under 0-1 loss is the supervised structural SVM.

    Wins where neighbors share their output and one global predictor is nearly enough; loses where the
    graph is impure, and collapses to few outputs if lam makes margins much smaller than 1.

    Parameters
    ----------
    space : output space; None infers `Classes` from y.
    C1 : weight of the loss between neighbors' outputs.
    k : neighbors of each point.
    lam : weight of |w|^2, or "auto": by 3-fold cross-validation on the labelled points.
    max_iter : largest number of turns.
    output_step : "exact" or "paper".
    init : start of the missing outputs: "supervised" predictions, label "propagation" or "auto".
    metric : "euclidean" or "cosine", the distance that defines neighbors.
    n_jobs : threads of the neighbor search.
    random_state : seed of the folds.

    Attributes
    ----------
    init_ : the start that was used.
    """

    search_space: ClassVar = {
        "C1": [0.1, 0.3, 1.0, 3.0],
        "k": [5, 10, 20],
        "lam": ["auto", 1e-2, 1e-3, 1e-4],
    }

    def __init__(
        self,
        space: OutputSpace | None = None,
        *,
        C1: float = 1.0,
        k: int = 10,
        lam: float | str = "auto",
        max_iter: int = 10,
        output_step: str = "exact",
        init: str = "auto",
        metric: str = "euclidean",
        n_jobs: int | None = None,
        random_state: Any = 0,
    ):
        self.space = space
        self.C1 = C1
        self.k = k
        self.lam = lam
        self.max_iter = max_iter
        self.output_step = output_step
        self.init = init
        self.metric = metric
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_space()
        check_number("C1", self.C1, least=0.0)
        check_count("max_iter", self.max_iter)
        check_choice("output_step", self.output_step, ("exact", "paper"))
        check_choice("init", self.init, ("auto", "supervised", "propagation"))
        check_graph_parameters(self.k, self.metric)
        check_lambda(self.lam)

    def _turns(self) -> Iterator[float]:
        space, starts = self.space_, self._inputs.starts
        rows = self._coordinates(self._inputs)
        self.lam_, self.weights_ = self._fit_labeled(rows[self._train.tokens], self.lam)
        step = self._output_step()
        Y = self._first_outputs(rows)
        if self.init_ == "propagation":
            self.weights_ = self._fit_all(rows, Y)
        for _ in range(self.max_iter):
            Y_old = Y
            S, T = linear_potentials(space, rows, self.weights_)
            for _ in range(SWEEPS):
                Y = step.move(S, T, Y, self.output_step == "exact")
            moved = space.changed(Y, Y_old, starts).any()
            if moved:
                self.weights_ = self._fit_all(rows, Y)
            self._slack = Y
            yield self._objective(step, rows, Y)
            if not moved:
                break
        self._warn_of_collapse()

    def _fit_all(self, rows: Matrix, Y: np.ndarray):
        """The predictor for the current outputs, from the last one on."""
        return fit_weights(
            self.space_, rows, self._inputs.starts, Y, self.lam_, start=self.weights_, taus=TAUS[-1:]
        )

    def _objective(self, step: OutputStep, rows: Matrix, Y: np.ndarray) -> float:
        costs = step.hinges(*linear_potentials(self.space_, rows, self.weights_), Y)
        costs = costs + self.C1 * step.graph_costs(Y)
        return self.lam_ / 2 * self.weights_.square_norm + float(costs.mean())

    def _learned_outputs(self) -> np.ndarray:
        return self._slack

    def _potentials(self, inputs: Inputs) -> Potentials:
        return linear_potentials(self.space_, self._coordinates(inputs), self.weights_)

    def _warn_of_collapse(self) -> None:
        """Say so if all missing outputs became one, though several were given."""
        missing = part_of(self.space_, self._inputs.starts, self._slack, self._missing)
        counts = [
            len({str(output) for output in self.space_.decode(part.codes, part.starts)})
            for part in (missing, self._train)
        ]
        if len(self._missing) > 20 and counts[0] == 1 < counts[1]:
            text = "All missing outputs became the same; lower lam or C1."
            warnings.warn(text, ConvergenceWarning, stacklevel=3)

    # --- the graph and the start -----------------------------------------------------------------------

    def _table(self, rows: Matrix) -> Table:
        """Neighbors of every row, and their shares."""
        n = rows.shape[0]
        if n == 1:
            return np.zeros((1, 0), dtype=np.int32), np.zeros((1, 0))
        search = Search(rows, self.metric, "auto", self.n_jobs, self._seed)
        graph = build_graph(search, min(self.k, n - 1), include_self=False)
        return graph.neighbors, shares(graph.distances, "heat", graph.bandwidth)

    def _output_step(self) -> OutputStep:
        space, inputs = self.space_, self._inputs
        if isinstance(space, Sequences) and space.loss_name == "hamming":
            table = self._table(inputs.rows)
        else:
            table = self._table(weighted_sums(inputs, inverse_frequencies(inputs)))
        return step_for(space)(space, *table, inputs.starts, self._given, self.C1)

    def _first_outputs(self, rows: Matrix) -> np.ndarray:
        """Predictions of the supervised predictor or propagated outputs, whichever suits."""
        space, starts = self.space_, self._inputs.starts
        supervised = allowed_codes(space, *linear_potentials(space, rows, self.weights_), starts, self._given)
        if self.init == "supervised" or (self.init == "auto" and len(self._labeled) < 6):
            self.init_ = "supervised"
            return supervised
        P = share_matrix(*self._table(self._inputs.rows))
        self.init_ = "propagation"
        if self.init == "auto" and not self._propagation_is_better(P, rows):
            self.init_ = "supervised"
            return supervised
        return self._propagate(P, self._labeled)

    def _propagation_is_better(self, P: sp.csr_matrix, rows: Matrix) -> bool:
        """Whether it has the lower error on held-out labelled points.

        The objective would not tell: one output everywhere has no cost on the graph.
        """
        space, starts = self.space_, self._inputs.starts
        errors = np.zeros(2)
        for kept, held in KFold(3, shuffle=True, random_state=self._seed).split(self._labeled):
            train, test = self._labeled[kept], part_of(space, starts, self._given, self._labeled[held])
            weights = fit_points(space, starts, rows, self._given, train, self.lam_)
            S, T = linear_potentials(space, rows[test.tokens], weights)
            spread = space.take(self._propagate(P, train), self._labeled[held], starts)
            for which, codes in enumerate((best_codes(space, S, T, test.starts), spread)):
                errors[which] += space.losses(test.codes, codes, test.starts).sum()
        return bool(errors[1] < errors[0])

    def _propagate(self, P: sp.csr_matrix, labeled: np.ndarray) -> np.ndarray:
        """Outputs of all points from those of the labelled ones, carried along the graph part by part."""
        space, starts = self.space_, self._inputs.starts
        known = part_of(space, starts, self._given, labeled)
        truth, _ = indicators(space, known.codes, known.starts)
        F = np.tile(truth.mean(axis=0), (self._inputs.rows.shape[0], 1))
        F[known.tokens] = truth
        for _ in range(PROPAGATION_STEPS):
            F = np.asarray(P @ F)
            F[known.tokens] = truth
        if isinstance(space, ListedSpace):
            F = -F @ space.loss_matrix
        if isinstance(space, LabelSets):
            F = F - 0.5
        given = np.full_like(self._given, -1)
        given[known.tokens] = known.codes
        allowed = self._given if len(labeled) == len(self._labeled) else given
        return allowed_codes(space, F, np.zeros((len(space), len(space))), starts, allowed)
