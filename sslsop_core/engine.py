"""The local predictors of all neighborhoods, in dual form, and the three updates of Algorithm 1.

Every w_i stays in the span of its own neighborhood, w_i = a w_0 + sum_j x_j (x) alpha_ij, so what is
kept per neighborhood is the scores S of its own tokens and the coefficients A; features enter only
through the Gram block of the neighborhood, computed once. An iteration costs O(n k q) plus O(k) per
violated constraint, whatever the number of features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from . import chain_steps, listed_steps, set_steps
from .inputs import Inputs, tokens_of
from .kernels import Kernel, block_sizes, gram_blocks, mean_scores
from .labelsets import LabelSets
from .neighbors import Graph
from .parallel import over_chunks
from .sequences import Sequences
from .spaces import ListedSpace, OutputSpace
from .storage import beyond, zeros
from .votes import Ballots, Votes, cheapest, in_order, no_ballots


@dataclass(frozen=True, eq=False)
class Start:
    """A shared predictor w_0 that all local ones start from, by what it does to the training tokens.

    `scores` are its potentials (tokens, q), `square_norm` is the square norm of its emission part,
    `transitions` (q, q) for sequences. With `anchor` the penalty pulls every w_i towards w_0, not zero.
    """

    scores: np.ndarray
    square_norm: float
    transitions: np.ndarray | None = None
    anchor: bool = False


class Engine(ABC):
    """State of Algorithm 1 but for the outputs; one subclass per kind of output space.

    Attributes
    ----------
    S, A : (rows, q). Scores and coefficients; the pair p = i * k + r owns rows `at[p]` to `at[p+1]`,
        one per token of the neighbor r of neighborhood i.
    Z : codes of the outputs that attain the bounds (eq. 7), laid out like the pairs.
    known : (n,). The share of each neighborhood whose outputs are known; 0 = not reached.
    learned : (n,). Whether each predictor has ever seen a known output.
    bounds : (n,). The mean bound of each neighborhood (eq. 6).
    square_norm : (n,). |w_i|^2, or |w_i - w_0|^2 when anchored.
    """

    # What a turn changes: the first with new outputs, the others with new predictors. All else is made once.
    observed: ClassVar = ("Z", "known", "bounds")
    moved: ClassVar[tuple[str, ...]] = ("S", "A", "square_norm", "learned", "start_weight")

    def __init__(
        self,
        space: Any,
        inputs: Inputs,
        graph: Graph,
        share: np.ndarray,
        kernel: Kernel,
        start: Start | None,
        seed: int,
        n_jobs: int | None,
        memory_limit: float | None = None,
    ):
        self.space, self.inputs, self.graph, self.kernel = space, inputs, graph, kernel
        self.start, self.seed, self.n_jobs = start, seed, n_jobs
        self.dtype = inputs.rows.dtype
        n, q = len(graph.neighbors), len(space)
        self.share = share.astype(self.dtype)
        self.at = np.concatenate([[0], np.cumsum(inputs.lengths[graph.neighbors.ravel()])]).astype(np.int64)
        scores = int(self.at[-1]) * q * self.dtype.itemsize
        blocks = block_sizes(inputs, graph.neighbors).sum() * self.dtype.itemsize
        # Scores are read in the order of the voters, the others from front to back: they leave last.
        self._on_disk = beyond(memory_limit, {"S": scores, "A": scores, "gram": blocks})
        self.A = zeros((self.at[-1], q), self.dtype, "A" in self._on_disk)
        self.start_scores = np.zeros((0, q), dtype=self.dtype)
        self.start_weight = 0.0  # a, the coefficient of w_0
        self.learned = np.zeros(n, dtype=bool)
        if start is not None:
            self.start_scores = start.scores.astype(self.dtype)
            self.start_weight = 1.0
        self.known = np.zeros(n)
        self.bounds = np.zeros(n)
        self.square_norm = np.full(n, 0.0 if start is None or start.anchor else start.square_norm)
        self._work = float(self.at[-1] * q)

    @property
    def starts(self) -> np.ndarray:
        """Where the tokens of each training point begin."""
        return self.inputs.starts

    def here(self) -> Engine:
        """The engine in this process: itself."""
        return self

    # --- what is computed once ---------------------------------------------------------------------

    @cached_property
    def tokens(self) -> np.ndarray:
        """The token of each row of S and A."""
        return tokens_of(self.inputs.starts, self.graph.neighbors.ravel())[0]

    @cached_property
    def gram(self) -> tuple[np.ndarray, np.ndarray]:
        """Blocks of inner products among the tokens of each neighborhood, and where each begins."""
        return self._gram_blocks()

    def prepare(self, progress: Callable[[float], None] | None) -> None:
        """Compute the Gram blocks now, saying how far that is."""
        self.gram = self._gram_blocks(progress)

    def _gram_blocks(self, progress: Callable[[float], None] | None = None):
        on_disk = "gram" in self._on_disk
        return gram_blocks(self.inputs, self.graph.neighbors, self.kernel, self.n_jobs, on_disk, progress)

    @cached_property
    def S(self) -> np.ndarray:
        """Scores; only their first value is computed here, from the coefficients and w_0."""
        S = zeros(self.A.shape, self.dtype, "S" in self._on_disk)
        if self.start is not None:
            np.take(self.start_weight * self.start_scores, self.tokens, axis=0, out=S, mode="clip")
        if self.A.any():
            blocks, block_at = self.gram
            mixed = self.A @ self.mixing
            for i, top in enumerate(self.at[: -1 : self.graph.k]):
                m = self.at[(i + 1) * self.graph.k] - top
                S[top : top + m] += blocks[block_at[i] : block_at[i + 1]].reshape(m, m) @ mixed[top : top + m]
        return S

    @cached_property
    def voters(self) -> tuple[np.ndarray, np.ndarray]:
        return self.graph.voters(len(self.inputs))

    @property
    def fresh(self) -> np.ndarray:
        """Mask of the predictors that are still zero, where z must be drawn."""
        return ~self.learned if self.start is None else np.zeros_like(self.learned)

    @cached_property
    def vote_shares(self) -> np.ndarray:
        """The share of every voter in its neighborhood, in the order of the voters."""
        return self.share.ravel()[self.voters[1]]

    @property
    def vote_weights(self) -> np.ndarray:
        """The same, 0 where the neighborhood knows nothing."""
        if self.known.all():
            return self.vote_shares
        return np.where((self.known > 0)[self._vote_hoods], self.vote_shares, 0)

    @cached_property
    def _vote_hoods(self) -> np.ndarray:
        """The neighborhood of every voter."""
        return (self.voters[1] // self.graph.k).astype(np.int32)

    @property
    def mixing(self) -> np.ndarray:
        """What turns coefficients of outputs into scores of outputs: e(y).e(y')."""
        return np.eye(len(self.space), dtype=self.dtype)

    # --- Algorithm 1 -------------------------------------------------------------------------------

    def objective(self, C: float) -> float:
        """Eq. 9 over the known outputs, those last given to `upper_bounds`."""
        return float(self.bounds.sum() + C / 2 * self.square_norm.sum())

    def update_predictors(self, Y: np.ndarray, eta: float, C: float) -> None:
        """One subgradient step on every local predictor (eq. 12)."""
        decay = 1.0 - eta * C
        anchored = self.start is not None and self.start.anchor
        if not anchored:
            self.start_weight *= decay
        # |w|^2 = a^2 |w_0|^2 + <A, S + a S_0>,  and |w - w_0|^2 = <A, S - S_0>.
        pull, cross = (1.0 - decay, -1.0) if anchored else (0.0, self.start_weight)
        self._step(Y, eta, decay, pull, cross)
        if self.start is not None and not anchored:
            self.square_norm += self.start_weight**2 * self.start.square_norm
        self.learned |= self.known > 0

    @abstractmethod
    def upper_bounds(self, Y: np.ndarray) -> None:
        """Update z, the known shares and the bounds for the outputs Y (eqs. 6 and 7)."""

    def update_outputs(self, Y: np.ndarray, given: np.ndarray, exact: bool) -> np.ndarray:
        """The next outputs: eq. 16 with z fixed, or the exact minimiser of eq. 9 at these predictors.

        Eq. 9 is taken over all neighbors: while outputs spread, a neighborhood that knows few of them has no
        more to say than one that knows all.
        """
        votes = self.sum_votes(exact)
        if not self.asks_back(self.space, exact):
            return self.choose(self.space, votes, Y, given, self.starts, self.n_jobs)
        candidates = self.propose(self.space, votes, Y, given, self.starts, self.n_jobs)
        return cheapest(candidates, self.costs(candidates), Y, self.starts)

    @abstractmethod
    def sum_votes(self, exact: bool) -> Votes:
        """What these neighborhoods say about the points they contain."""

    @staticmethod
    @abstractmethod
    def choose(
        space: Any, votes: Votes, Y: np.ndarray, given: np.ndarray, starts: np.ndarray, n_jobs: int | None = 1
    ) -> np.ndarray:
        """The next outputs of points, from all votes on them."""

    @staticmethod
    def asks_back(space: Any, exact: bool) -> bool:
        """Whether votes only say what outputs come into question, and `costs` what they cost."""
        return False

    @staticmethod
    def propose(
        space: Any, votes: Votes, Y: np.ndarray, given: np.ndarray, starts: np.ndarray, n_jobs: int | None = 1
    ) -> Ballots:
        """The outputs that come into question for points, where neighborhoods are asked back."""
        raise NotImplementedError

    def costs(self, candidates: Ballots) -> np.ndarray:
        """What the candidates would cost these neighborhoods."""
        raise NotImplementedError

    @abstractmethod
    def find_two_best(self) -> None:
        """Find what several steps ask of the present scores (0-1 loss), unless that has been done."""

    def _ballots(self, codes: np.ndarray, at: np.ndarray, weights: np.ndarray) -> Ballots:
        """The outputs that pairs name for their points, from the codes at[p]..at[p+1] of each pair p."""
        starts, voters = self.voters
        share = self.vote_weights
        counted = np.flatnonzero((share > 0) & (codes[at[voters]] >= 0))
        points, pairs = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[counted], voters[counted]
        tokens, begins = tokens_of(at, pairs)
        return Ballots(points, codes[tokens], begins, share[counted] * weights[pairs]).distinct()

    @abstractmethod
    def _step(self, Y: np.ndarray, eta: float, decay: float, pull: float, cross: float) -> None:
        """Scale every predictor by `decay`, move it by eta times eq. 11, refresh `square_norm`."""

    # --- Algorithm 2 -------------------------------------------------------------------------------

    def potentials(
        self, new: Inputs, nearest: np.ndarray, share: np.ndarray, start_scores: np.ndarray | None
    ) -> np.ndarray:
        """Mean scores of new tokens under the predictors of their nearest points (eq. 21), (tokens, q)."""
        scores = mean_scores(
            new, self.inputs, self.graph.neighbors, self.at, self.A, nearest, share, self.kernel, self.n_jobs
        )
        scores = scores @ self.mixing
        if start_scores is not None:
            scores += self.start_weight * start_scores
        return scores

    def transitions(self, nearest: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Mean transition scores of the same predictors, (new inputs, q, q); zero unless sequences."""
        return np.zeros((len(nearest), 1, 1), dtype=self.dtype)

    def own_scores(self) -> np.ndarray:
        """Scores of the first neighbor's tokens in every neighborhood, (tokens, q)."""
        first = np.arange(0, len(self.at) - 1, self.graph.k)
        return self.S[tokens_of(self.at, first)[0]]

    def _over(self, kernel: Any, *args: Any) -> None:
        """Run a kernel over all neighborhoods or, as there are as many in training, over all points."""
        over_chunks(kernel, len(self.graph.neighbors), *args, n_jobs=self.n_jobs, work=self._work)


class ListedEngine(Engine):
    """Classes and tree leaves: a row of S holds the score of every output."""

    def __init__(self, space: ListedSpace, *args: Any):
        super().__init__(space, *args)
        self.Z = np.full(len(self.A), -1, dtype=np.int32)
        empty = np.zeros((0, 0))
        self._losses = empty if space.zero_one else space.loss_matrix
        self._common = empty if space.zero_one else space.embedding @ space.embedding.T

    @property
    def mixing(self) -> np.ndarray:
        return super().mixing if self.space.zero_one else self._common.astype(self.dtype)

    def find_two_best(self):
        pass  # the steps look at the scores of all outputs

    def upper_bounds(self, Y):
        self._over(
            listed_steps.upper_bounds, self.S, self.fresh, self.graph.neighbors, self.share, Y, self._losses,
            self.space.zero_one, self.seed, self.inputs.keys, self.Z, self.known, self.bounds,
        )  # fmt: skip

    def _step(self, Y, eta, decay, pull, cross):
        self._over(
            listed_steps.update_predictors, self.S, self.A, self.gram[0], self.graph.neighbors, self.share,
            self.known, Y, self.Z, self._common, self.space.zero_one, self.start_scores, decay, eta, pull,
            cross, self.square_norm,
        )  # fmt: skip

    def update_outputs(self, Y, given, exact):
        # Sums and choice in one pass: what is most often run does without an array of sums.
        Y_new = Y.copy()
        self._over(
            listed_steps.update_outputs, self.S, self.vote_weights, *self.voters, given,
            self.space.groups, self._losses, self.space.zero_one, exact, self.Z, Y_new,
        )  # fmt: skip
        return Y_new

    def sum_votes(self, exact):
        n, q = len(self.inputs), len(self.space)
        costs, reached = np.zeros((n, q)), np.zeros(n, dtype=bool)
        over_chunks(
            listed_steps.sum_votes, n, self.S, self.vote_weights, *self.voters, self._losses,
            self.space.zero_one, exact, self.Z, costs, reached, n_jobs=self.n_jobs, work=self._work,
        )  # fmt: skip
        return Votes(costs, np.zeros((n, 0, 0)), reached, no_ballots(self.Z.dtype))

    @staticmethod
    def choose(space, votes, Y, given, starts, n_jobs=1):
        Y_new = Y.copy()
        listed_steps.choose_outputs(0, len(Y), votes.sums, votes.reached, given, space.groups, Y_new)
        return Y_new


class ChainEngine(Engine):
    """Tag sequences: a row of S per token, transition weights T kept explicitly.

    The exact step for Hamming loss has no closed form: the true cost is evaluated for a short list (the
    current output, eq. 16's, the summed scores', every voter's best) and the lowest is taken, so that the
    objective never rises.
    """

    moved = (*Engine.moved, "T", "_best", "_second", "_margin")

    def __init__(self, space: Sequences, *args: Any):
        super().__init__(space, *args)
        q, rows = len(space), len(self.A)
        self._start_T = np.zeros((q, q), dtype=self.dtype)
        if self.start is not None and self.start.transitions is not None:
            self._start_T[:] = self.start.transitions
            if not self.start.anchor:
                self.square_norm += np.sum(self._start_T**2) / self.kernel.transitions
        self.T = np.tile(self._start_T, (len(self.learned), 1, 1))
        self.Z = np.full(rows, -1, dtype=np.int16)
        self._best = np.zeros(rows, dtype=np.int16)
        self._second = np.zeros(rows, dtype=np.int16)
        self._margin = np.zeros(len(self.at) - 1)
        self._hamming = space.loss_name == "hamming"
        self._work *= q
        self._stale = True

    def find_two_best(self):
        if not self._hamming and self._stale:
            self._over(
                chain_steps.two_best, self.S, self.T, self.at, self.graph.k, self._best, self._second,
                self._margin,
            )  # fmt: skip
            self._stale = False

    def upper_bounds(self, Y):
        self.find_two_best()
        self._over(
            chain_steps.upper_bounds, self.S, self.T, self.at, self.fresh, self.graph.neighbors, self.share,
            self.inputs.starts, Y, self._hamming, self._best, self._second, self._margin, self.seed,
            self.inputs.keys, self.Z, self.known, self.bounds,
        )  # fmt: skip

    def _step(self, Y, eta, decay, pull, cross):
        self._over(
            chain_steps.update_predictors, self.S, self.A, self.T, *self.gram, self.at, self.graph.neighbors,
            self.share, self.known, self.inputs.starts, Y, self.Z, self.start_scores, self._start_T,
            self.kernel.transitions, decay, eta, pull, cross, self.square_norm,
        )  # fmt: skip
        self._stale = True

    def sum_votes(self, exact):
        n, q = len(self.inputs), len(self.space)
        width = 2 * q if self.asks_back(self.space, exact) else q
        sums, transitions = np.zeros((self.starts[-1], width)), np.zeros((n, q, q))
        reached = np.zeros(n, dtype=bool)
        over_chunks(
            chain_steps.sum_votes, n, self.S, self.T, self.at, self.vote_weights, *self.voters, self.starts,
            self._hamming, self.Z, sums, transitions, reached, n_jobs=self.n_jobs, work=self._work,
        )  # fmt: skip
        return Votes(sums, transitions, reached, self._named(exact))

    def _named(self, exact: bool) -> Ballots:
        """z (eq. 16) or the voters' best, as far as they count."""
        if self._hamming:
            if not exact:
                return no_ballots(self.Z.dtype)  # z is in the sums
            best = np.empty_like(self.Z)
            self._over(chain_steps.best_of_pairs, self.S, self.T, self.at, self.graph.k, best)
            return self._ballots(best, self.at, self._margin)  # to be asked back: weights do not matter
        if not exact:
            return self._ballots(self.Z, self.at, np.ones(len(self._margin)))
        self.find_two_best()
        return self._ballots(self._best, self.at, np.minimum(self._margin, 1.0))

    @staticmethod
    def choose(space, votes, Y, given, starts, n_jobs=1):
        Y_new, n, ballots = Y.copy(), len(starts) - 1, votes.ballots
        wanted = votes.reached & ~space.complete(given, starts)
        summed = (votes.sums, votes.transitions, wanted)
        work = float(votes.sums.size * len(space))
        if space.loss_name == "hamming":
            over_chunks(chain_steps.best_paths, n, *summed, starts, given, Y_new, n_jobs=n_jobs, work=work)
            return Y_new
        over_chunks(
            chain_steps.choose_voted, n, *summed, ballots.starts(n), ballots.codes, ballots.at,
            ballots.weights, starts, given, Y_new, n_jobs=n_jobs, work=work,
        )  # fmt: skip
        return Y_new

    @staticmethod
    def asks_back(space, exact):
        return exact and space.loss_name == "hamming"

    @staticmethod
    def propose(space, votes, Y, given, starts, n_jobs=1):
        n, q = len(starts) - 1, len(space)
        wanted = votes.reached & ~space.complete(given, starts)
        named = [_whole(Y, np.flatnonzero(wanted & space.known(Y, starts)), starts)]
        for sums in (votes.sums[:, q:], votes.sums[:, :q]):
            paths = Y.copy()
            over_chunks(
                chain_steps.best_paths, n, np.ascontiguousarray(sums), votes.transitions, wanted, starts,
                given, paths, n_jobs=n_jobs, work=float(sums.size * q),
            )  # fmt: skip
            named.append(_whole(paths, np.flatnonzero(wanted), starts))
        return in_order([*named, _allowed(votes.ballots, wanted, given, starts)]).distinct()

    def costs(self, candidates):
        costs = np.zeros(len(candidates))
        over_chunks(
            chain_steps.true_costs, len(candidates), self.S, self.T, self.at, self.vote_weights, *self.voters,
            candidates.points, candidates.codes, candidates.at, costs, n_jobs=self.n_jobs, work=self._work,
        )  # fmt: skip
        return costs

    def transitions(self, nearest, share):
        mean_T = np.zeros((len(nearest), *self.T.shape[1:]), dtype=self.dtype)
        for r in range(nearest.shape[1]):
            mean_T += share[:, r, None, None] * self.T[nearest[:, r]]
        return mean_T


class SetEngine(Engine):
    """Label sets: a row of S holds what each label adds."""

    moved = (*Engine.moved, "_best", "_margin")

    def __init__(self, space: LabelSets, *args: Any):
        super().__init__(space, *args)
        self.Z = np.full(self.A.shape, -1, dtype=np.int8)
        self._best = np.zeros(self.A.shape, dtype=np.int8)
        self._margin = np.zeros(len(self.A))
        self._hamming = space.loss_name == "hamming"
        self._stale = True

    def find_two_best(self):
        if not self._hamming and self._stale:
            self._over(set_steps.two_best, self.S, self.graph.k, self._best, self._margin)
            self._stale = False

    def upper_bounds(self, Y):
        self.find_two_best()
        self._over(
            set_steps.upper_bounds, self.S, self.fresh, self.graph.neighbors, self.share, Y, self._hamming,
            self._best, self._margin, self.seed, self.inputs.keys, self.Z, self.known, self.bounds,
        )  # fmt: skip

    def _step(self, Y, eta, decay, pull, cross):
        self._over(
            set_steps.update_predictors, self.S, self.A, self.gram[0], self.graph.neighbors, self.share,
            self.known, Y, self.Z, self.start_scores, decay, eta, pull, cross, self.square_norm,
        )  # fmt: skip
        self._stale = True

    def sum_votes(self, exact):
        n, q = len(self.inputs), len(self.space)
        sums, reached = np.zeros((n, q)), np.zeros(n, dtype=bool)
        over_chunks(
            set_steps.sum_votes, n, self.S, self.vote_weights, *self.voters, self._hamming, exact, self.Z,
            sums, reached, n_jobs=self.n_jobs, work=self._work,
        )  # fmt: skip
        return Votes(sums, np.zeros((n, 0, 0)), reached, self._named(exact))

    def _named(self, exact: bool) -> Ballots:
        """z (eq. 16) or the voters' best, as far as they count."""
        if self._hamming:
            return no_ballots(self.Z.dtype)
        votes, weights = self.Z, np.ones(len(self._margin))
        if exact:
            self.find_two_best()
            votes, weights = self._best, np.minimum(self._margin, 1.0)
        return self._ballots(votes.ravel(), np.arange(len(votes) + 1) * len(self.space), weights)

    @staticmethod
    def choose(space, votes, Y, given, starts, n_jobs=1):
        Y_new, ballots = Y.copy(), votes.ballots
        over_chunks(
            set_steps.choose_outputs, len(Y), votes.sums, votes.reached, ballots.starts(len(Y)),
            ballots.codes.reshape(-1, len(space)), ballots.weights, given, Y_new,
            n_jobs=n_jobs, work=float(votes.sums.size),
        )  # fmt: skip
        return Y_new


def _whole(codes: np.ndarray, points: np.ndarray, starts: np.ndarray) -> Ballots:
    """The outputs of some points, named once each."""
    tokens, at = tokens_of(starts, points)
    return Ballots(points, codes[tokens], at, np.zeros(len(points)))


def _allowed(ballots: Ballots, wanted: np.ndarray, given: np.ndarray, starts: np.ndarray) -> Ballots:
    """The ballots for wanted points that agree with what is given of their outputs."""
    there = given[tokens_of(starts, ballots.points)[0]]
    wrong = np.logical_or.reduceat((there >= 0) & (there != ballots.codes), ballots.at[:-1])
    return ballots.only(np.flatnonzero(wanted[ballots.points] & ~wrong))


def engine_for(space: OutputSpace) -> type[Engine]:
    """The engine that runs a space."""
    if isinstance(space, Sequences):
        return ChainEngine
    return SetEngine if isinstance(space, LabelSets) else ListedEngine
