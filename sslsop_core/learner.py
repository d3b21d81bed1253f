"""SSLSOP: Algorithms 1 and 2 of "Semi-supervised learning of local structured output predictors".

Where the paper is silent, this is what happens:

- A point is its own neighbor (`include_self=True`), so that it lies in at least one neighborhood.
- Missing outputs start as `init` says. With "spread" and "guided" an output is unknown, and left out
  of every sum, until a neighborhood that knows something reaches it; sums are divided by the known share.
- A point that no neighborhood reaches keeps the output `None`.
- Ties go to the lowest output, except at w = 0, where z is drawn among the tied outputs.
- A partly given output allows some outputs: the learned one is always among them. z is not
  restricted: were it, a given output could never be violated and nothing would be learned.
- Sequences are neighbors by the sum of their tokens, weighted by inverse document frequency if sparse.

Ours and not the paper's: `output_step="exact"`, `weights="heat"`, `kernel="rbf"`, `scale="auto"`,
`intercept`, `transitions`, `init="guided"`, `"hybrid"`, `"hinted"`, `"global"` and `"auto"`, `latent`,
`anchor` and `own_predictor`.
`SSLSOP.paper(space, ...)` is the paper's algorithm to the letter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .choice import FALLBACK, MOST_TRIED, TRIAL_TURNS, choose, tried
from .door import check_inputs, check_training
from .engine import Engine, Start, engine_for
from .estimate import Estimate, estimate
from .estimator import Iteration, StructuredEstimator, check_choice, check_count, check_number, compact
from .explain import Explanation, explain_new_point, explain_training_point
from .features import Features
from .hybrid_start import train_hint, train_hybrid
from .inputs import Inputs, Matrix, tokens_of
from .kernels import Kernel
from .latent import latent_directions, points_that_tell
from .neighbors import Graph, Search, build_graph, given_graph, inverse_frequencies, shares, weighted_sums
from .parallel import shared_threads
from .prediction import NewPoints
from .remember import sharing
from .sequences import Sequences
from .shared import Shared, train_shared
from .spaces import Classes, OutputSpace
from .starts import nearest_start, random_start, require_complete, shared_start, spread_start

if TYPE_CHECKING:
    from .cluster import ClusterEngine

Progress = Callable[[str, float], None]

CHOICES = {
    "output_step": ("exact", "paper"),
    "init": ("auto", "spread", "guided", "hybrid", "hinted", "global", "nearest", "random"),
    "weights": ("heat", "uniform"),
    "kernel": ("linear", "rbf"),
    "metric": ("euclidean", "cosine"),
    "search": ("auto", "exact", "approximate"),
    "engine": ("threads", "dask"),
}
# What the paper's algorithm is, whatever k, C, eta, T and the start, which it leaves open.
LETTER: dict[str, Any] = {
    "output_step": "paper",
    "weights": "uniform",
    "kernel": "linear",
    "scale": 1.0,
    "intercept": False,
    "transitions": 1.0,
    "anchor": False,
    "own_predictor": False,
}
# Starts without a shared predictor.
UNSHARED = ("spread", "nearest", "random")


class SSLSOP(StructuredEstimator):
    """Semi-supervised learning of local structured output predictors.

    Learns a linear predictor w_i for the neighborhood N_i of every training point, together with the
    missing outputs y_i, by alternating descent on

        sum_i { 1/k sum_{j in N_i} max_y' [ w_i.(Phi(x_j,y') - Phi(x_j,y_j)) + Delta(y_j,y') ] + C/2 |w_i|^2 }

    with the given outputs held fixed (eq. 9). A new point is predicted by the mean score of the
    predictors of its k nearest training points (eq. 21).

    Parameters
    ----------
    space : output space; None infers `Classes` from y.
    k : size of a neighborhood, the point itself included if `include_self`.
    C : weight of |w_i|^2. Larger means simpler predictors: the opposite of most SVM libraries.
    eta : step size, or "auto" for 1 / (C t).
    max_iter : T, the largest number of iterations.
    output_step : "exact" minimises eq. 9 over each output; "paper" is eq. 16, which holds z fixed.
    init : how missing outputs and predictors start. "spread": outputs unknown until a neighborhood that
        knows something reaches them, w_i = 0; "guided": the same, but every w_i starts at w_0, a structural
        SVM on the labelled points; "hybrid": the same with a `baselines.HybridCRF` for w_0, which learns
        from the unlabelled points too, and with a pull towards it; "hinted": the same, scaled down to a hint
        that a few neighbors overrule; "global": w_i starts at the SVM, and outputs as it predicts; "nearest":
        outputs of the nearest labelled points, w_i = 0; "random": any outputs, w_i = 0; "auto": what does
        best of "hybrid", "spread" and "hinted" (of sequences "guided", "hybrid" and "spread") in trial runs
        which hide a fifth of the given outputs in turn; "guided" if those are fewer than 6 or the points more
        than 10,000.
    latent : w_0 learns more readily along this many principal directions of all points, labelled or not,
        where X has more columns; 0 for none.
    views : for "hybrid", arrays of columns with a generative model each; None is one for all.
    weights : "uniform", or "heat": a neighbor at distance d counts exp(-d^2/h), with h the median squared
        distance to the 10th neighbor.
    kernel : "linear" or "rbf", exp(-gamma |x - x'|^2).
    gamma : number, or "auto" for 1/h.
    intercept : whether local predictors have a constant term; w_0 has one in any case.
    transitions : for sequences, the weight of their transitions in inner products; 1 is the paper's. A
        neighborhood shows few of them, most between two of the commonest tag: at 1 they outvote the tokens,
        and few labelled sequences end with that tag everywhere.
    scale : divides the linear kernel; "auto" is the mean of |x|^2, so that `eta` does not depend on units.
    anchor : with init="guided" or "global", pull every w_i towards w_0 in place of zero; "auto" does so for
        sequences, of which a neighborhood shows too little to hold what w_0 knows.
    metric : "euclidean" or "cosine", the distance that defines neighborhoods.
    search : "exact", "approximate" (nearest-neighbor descent, for more than 50,000 points in many dimensions)
        or "auto" by size.
    include_self : whether a point belongs to its own neighborhood.
    own_predictor : at prediction, also train a predictor for the new point's own neighborhood, with the
        outputs learned, and average it with those of its neighbors; False is eq. 21 alone.
    tol : stop when no output moved and the objective moved by less than this share of itself.
    n_jobs : threads; the result does not depend on it. Approximate search has one, because what it finds
        would.
    memory_limit : bytes that scores, coefficients and inner products may take in memory, None for all that
        there is. What is beyond lies in a temporary file (in `TMPDIR`); the result does not depend on it.
    engine : "threads" of this process, or "dask": the workers of the current `distributed.Client` (see
        docs/cluster.md). X may then also be a Dask array, whose rows the workers read.
    random_state : seed of all draws.

    Attributes
    ----------
    outputs_ : outputs of the training points, given or learned, None where not reached.
    history_ : one `Iteration` per turn.
    n_iter_, stop_reason_ : turns taken; why the last run ended: "converged", "max_iter" or "interrupted".
    space_, classes_, n_features_in_, k_, init_ : what was used.
    graph_ : the neighborhoods, a `Graph`.
    features_ : the pipeline a loaded model was saved with, or None.

    Examples
    --------
    >>> from sslsop_core import SSLSOP
    >>> X = [[0.0, 1.0], [0.1, 1.0], [0.2, 1.1], [3.0, 0.0], [3.1, 0.1], [3.2, 0.0]]
    >>> model = SSLSOP(k=3).fit(X, ["a", None, None, "b", None, None])
    >>> model.outputs_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    >>> model.predict([[0.3, 0.9], [2.9, 0.2]]).tolist()
    ['a', 'b']
    """

    features_: Features | None = None
    _iterating = False
    _trainer: Engine | ClusterEngine
    _search_index: Search | None
    _given: np.ndarray
    _Y: np.ndarray

    def __init__(
        self,
        space: OutputSpace | None = None,
        *,
        k: int = 12,
        C: float = 0.01,
        eta: float | str = 1.0,
        max_iter: int = 50,
        output_step: str = "exact",
        init: str = "auto",
        latent: int = 64,
        views: Any = None,
        weights: str = "heat",
        kernel: str = "linear",
        gamma: float | str = "auto",
        intercept: bool = False,
        transitions: float = 0.05,
        scale: float | str = "auto",
        anchor: bool | str = "auto",
        metric: str = "euclidean",
        search: str = "auto",
        include_self: bool = True,
        own_predictor: bool = True,
        tol: float = 1e-4,
        n_jobs: int | None = None,
        memory_limit: float | None = None,
        engine: str = "threads",
        random_state: Any = 0,
    ):
        self.space = space
        self.k = k
        self.C = C
        self.eta = eta
        self.max_iter = max_iter
        self.output_step = output_step
        self.init = init
        self.latent = latent
        self.views = views
        self.weights = weights
        self.kernel = kernel
        self.gamma = gamma
        self.intercept = intercept
        self.transitions = transitions
        self.scale = scale
        self.anchor = anchor
        self.metric = metric
        self.search = search
        self.include_self = include_self
        self.own_predictor = own_predictor
        self.tol = tol
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.engine = engine
        self.random_state = random_state

    @classmethod
    def paper(cls, space: OutputSpace | None = None, **parameters: Any) -> SSLSOP:
        """The paper's algorithm to the letter: eq. 16, uniform weights, plain inner products, w_i = 0."""
        return cls(space, **(LETTER | {"init": "spread"} | parameters))

    # --- Algorithm 1 -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, *, neighbors: Any = None, progress: Progress | None = None) -> SSLSOP:
        """Learn the local predictors and the missing outputs.

        Parameters
        ----------
        X : (n, d) array or CSR matrix; for sequences a list of n (length, d) arrays or CSR matrices.
        y : n outputs, None where missing.
        neighbors : optional: the result of `neighborhoods`, or a table (n, k) of indices, or a pair
            (indices, distances).
        progress : called with the name of a phase before the first turn and the share of it that is done.
        """
        for _ in self.iter_fit(X, y, neighbors=neighbors, progress=progress):
            pass
        return self

    def iter_fit(
        self, X: Any, y: Any, *, neighbors: Any = None, progress: Progress | None = None
    ) -> Iterator[Iteration]:
        """Run Algorithm 1, yielding an `Iteration` after each turn.

        Between turns the model is whole: it predicts, explains, saves and resumes, also when the
        caller never comes back.
        """
        self._check_parameters()
        self._start(X, y, neighbors, progress or _silent)
        yield from self._iterate(self.max_iter)

    def estimate(self, X: Any, y: Any = None) -> Estimate:
        """Time and memory that `fit(X, y)` will take, from a small run that is timed."""
        self._check_parameters()
        return estimate(self, X, y)

    def neighborhoods(self, X: Any) -> Graph:
        """The neighborhoods that `fit` would find (eq. 1), to be given to it as `neighbors` by many runs."""
        self._check_parameters()
        self._settle_seed()
        search = self._search_among(check_inputs(self, X, self.space, reset=True))
        return build_graph(search, self.k, self.include_self)

    def resume(self, extra_iter: int = 20) -> SSLSOP:
        """Go on from where the last run stopped; the same as one longer run."""
        for _ in self.iter_resume(extra_iter):
            pass
        return self

    def iter_resume(self, extra_iter: int = 20) -> Iterator[Iteration]:
        """`resume`, yielding an `Iteration` after each turn."""
        check_is_fitted(self, "history_")
        if self.stop_reason_ != "converged":  # one longer run would have stopped there too
            yield from self._iterate(extra_iter)

    def relabel(self, changes: Mapping[int, Any]) -> SSLSOP:
        """Give points an output or, with None, take it away; `resume` goes on from there.

        An output taken away stays as it is until the next turn, which is free to move it.
        """
        check_is_fitted(self, "history_")
        starts = self._trainer.starts
        given, Y = self._given.copy(), self._Y.copy()
        for i, output in changes.items():
            if not 0 <= i < len(starts) - 1:
                raise ValueError(f"changes must name points 0 to {len(starts) - 2}; got {i}.")
            own = tokens_of(starts, np.array([i]))[0] if isinstance(self.space_, Sequences) else [i]
            given[own] = self._encoded(i, output, len(own))
            Y[own] = self.space_.agree(Y[own], given[own])
        if given.max() < 0:
            raise ValueError("changes would leave no output to learn from; keep at least one.")
        self._given, self._Y = given, Y
        self.stop_reason_ = "interrupted"
        return self

    def _encoded(self, i: int, output: Any, length: int) -> np.ndarray:
        """The codes of one point's output; errors name the point."""
        try:
            return self.space_.encode([output], np.array([0, length]))
        except ValueError as error:
            raise ValueError(str(error).replace("y[0]", f"changes[{i}]")) from None

    def _start(self, X: Any, y: Any, neighbors: Any, progress: Progress) -> None:
        """Everything before the first turn: neighborhoods, kernel, starts."""
        self._settle_seed()
        self._search_index = None
        if self.engine == "dask":
            from .cluster import start_on_cluster  # Dask is an extra

            start_on_cluster(self, X, y, neighbors, progress)
        else:
            self._start_here(X, y, neighbors, progress)
        self.history_ = []
        self.n_iter_ = 0
        self.stop_reason_ = "interrupted"

    def _start_here(self, X: Any, y: Any, neighbors: Any, progress: Progress) -> None:
        space, inputs, given = check_training(self, X, y, self.space)
        self.space_, self._given = space, given
        self._search_index = self._search_among(inputs)
        if neighbors is None:
            progress("neighbors", 0.0)
            graph = build_graph(self._search_index, self.k, self.include_self, partial(progress, "neighbors"))
        else:
            graph = given_graph(neighbors, len(inputs), len(inputs))
        kernel = self._make_kernel(inputs.square_norms, graph.bandwidth)
        share = shares(graph.distances, self.weights, graph.bandwidth)
        trainer = self._trainer_at(None, inputs, graph, share, kernel)
        progress("inner products", 0.0)
        trainer.prepare(partial(progress, "inner products"))
        progress("first outputs", 0.0)
        directions = self._directions(inputs.keys, inputs.d, inputs.take)
        self.init_ = self._choose_init(trainer, directions) if self.init == "auto" else self.init
        self._Y, self._shared = self._first_outputs(self.init_, given, inputs, kernel, directions)
        self._trainer = trainer if self._shared is None else self._twin(trainer, self._shared)

    def _trainer_at(
        self, shared: Shared | None, inputs: Inputs, graph: Graph, share: np.ndarray, kernel: Kernel
    ) -> Engine:
        """Predictors at w_0, or at zero."""
        start = None if shared is None else self._start_at(shared, inputs)
        return engine_for(self.space_)(
            self.space_, inputs, graph, share, kernel, start, self._seed, self.n_jobs, self.memory_limit
        )

    def _twin(self, trainer: Engine, shared: Shared | None) -> Engine:
        """Fresh predictors on the same points; their inner products need not be computed again."""
        twin = self._trainer_at(shared, trainer.inputs, trainer.graph, trainer.share, trainer.kernel)
        twin.gram = trainer.gram
        return twin

    def _directions(self, keys: np.ndarray, d: int, take: Callable[[np.ndarray], Inputs]) -> np.ndarray:
        """Along which a shared predictor learns more readily; `take` gets the inputs of some points."""
        if self.init in UNSHARED or not 0 < self.latent < d:
            return np.zeros((d, 0))
        return latent_directions(take(points_that_tell(keys, self._seed)), self.latent, self._seed)

    def _choose_init(self, prepared: Engine, directions: np.ndarray) -> str:
        """The start that does best when some of the given outputs are hidden from it."""
        inputs = prepared.inputs
        if len(inputs) > MOST_TRIED:
            return FALLBACK

        def trial(init: str, given: np.ndarray) -> np.ndarray:
            Y, shared = self._first_outputs(init, given, inputs, prepared.kernel, directions)
            trainer = self._twin(prepared, shared)
            # Whatever max_iter is: a run that is resumed is then the same as one longer run.
            with shared_threads(self.n_jobs):
                for t in range(1, TRIAL_TURNS + 1):
                    trainer.upper_bounds(Y)
                    trainer.update_predictors(Y, self._eta(t), self.C)
                    Y = trainer.update_outputs(Y, given, self.output_step == "exact")
            return Y

        names = tried(self.space_)
        with sharing():  # a hybrid and its hint are trained once
            return choose(names, trial, self.space_, self._given, inputs, self._seed) or FALLBACK

    def _first_outputs(
        self, init: str, given: np.ndarray, inputs: Inputs, kernel: Kernel, directions: np.ndarray
    ) -> tuple[np.ndarray, Shared | None]:
        """Where outputs and, through a shared predictor, the local ones begin."""
        space, starts = self.space_, inputs.starts
        labeled = np.flatnonzero(space.complete(given, starts))
        require_complete(init, labeled)
        if init == "random":
            return random_start(space, given, inputs.keys, starts, self._seed), None
        if init == "nearest":
            return nearest_start(space, given, inputs, self._search.points, self.n_jobs), None
        spread = spread_start(space, given, inputs.keys, starts, self._seed)
        if init == "spread" or len(labeled) == 0:
            return spread, None
        if init in ("hybrid", "hinted"):
            train = train_hybrid if init == "hybrid" else train_hint
            return spread, train(space, inputs, given, labeled, self.views, directions, self._seed)
        shared = train_shared(space, inputs, given, labeled, kernel, directions, self._seed)
        if init == "guided":
            return spread, shared
        return shared_start(space, given, inputs, shared), shared

    def _start_at(self, shared: Shared, inputs: Inputs) -> Start:
        """What w_0 does to the tokens of these inputs."""
        scores = shared.scores(self.space_, inputs)
        return Start(scores, shared.square_norm, shared.transitions, self._anchored or shared.anchored)

    @property
    def _anchored(self) -> bool:
        """Whether predictors are pulled towards the shared one in place of zero."""
        return isinstance(self.space_, Sequences) if self.anchor == "auto" else bool(self.anchor)

    def _shared_start(self, inputs: Inputs) -> Start | None:
        return None if self._shared is None else self._start_at(self._shared, inputs)

    def _make_kernel(self, square_norms: np.ndarray, bandwidth: float) -> Kernel:
        gamma, scale = None, 1.0
        if self.kernel == "rbf":
            gamma = 1 / bandwidth if self.gamma == "auto" else float(self.gamma)
        else:
            # In order: the mean then does not depend on that of the data.
            scale = float(np.sort(square_norms).mean()) if self.scale == "auto" else float(self.scale)
        return Kernel(gamma, self.intercept, scale if scale > 0 else 1.0, float(self.transitions))

    def _iterate(self, turns: int) -> Iterator[Iteration]:
        self._iterating = True
        try:
            yield from self._turns(turns)
        finally:
            self._iterating = False

    def _turns(self, turns: int) -> Iterator[Iteration]:
        engine, space = self._trainer, self.space_
        starts, exact = engine.starts, self.output_step == "exact"
        seen: np.ndarray | None = None  # the outputs last given to `upper_bounds`
        before = 0.0
        self.stop_reason_ = "interrupted"
        for t in range(self.n_iter_ + 1, self.n_iter_ + turns + 1):
            with shared_threads(self.n_jobs):
                if self._Y is not seen:  # the first turn, or outputs were given by hand after the last one
                    engine.upper_bounds(self._Y)
                    before = engine.objective(self.C)
                engine.update_predictors(self._Y, self._eta(t), self.C)
                Y, Y_old = engine.update_outputs(self._Y, self._given, exact), self._Y
                engine.upper_bounds(Y)
            value = engine.objective(self.C)
            if not np.isfinite(value):
                raise ValueError(
                    f"The objective is not finite after {t} iterations; lower eta or scale the features."
                )
            self._Y, self.n_iter_, seen = Y, t, Y
            n_changed = int(space.changed(Y, Y_old, starts).sum())
            n_unreached = int((~space.known(Y, starts)).sum())
            self.history_.append(Iteration(t, value, n_changed, n_unreached, compact(Y, len(space))))
            settled = n_changed == 0 and abs(before - value) <= self.tol * abs(before)
            before = value
            if settled:
                self.stop_reason_ = "converged"
            yield self.history_[-1]
            if settled:
                return
        self.stop_reason_ = "max_iter"

    def _eta(self, t: int) -> float:
        return 1.0 / (self.C * t) if self.eta == "auto" else float(self.eta)

    def _settle_seed(self) -> None:
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))

    def _search_among(self, inputs: Inputs) -> Search:
        """The search that a run on these inputs begins with."""
        self._idf = inverse_frequencies(inputs)
        return self._make_search(inputs)

    def _make_search(self, inputs: Inputs) -> Search:
        return Search(self._points(inputs), self.metric, self.search, self.n_jobs, self._seed)

    def _points(self, inputs: Inputs) -> Matrix:
        """One vector per input, by which neighbors are found."""
        return weighted_sums(inputs, self._idf)

    # --- what was learned ----------------------------------------------------------------------------

    @property
    def outputs_(self) -> Any:
        check_is_fitted(self, "history_")
        return self._outside(self._Y, self._trainer.starts)

    @property
    def _engine(self) -> Engine:
        """The engine in this process; one whose blocks are on a cluster fetches them when first asked for.

        It stays there for the next turn, if it is asked between two.
        """
        here = self._trainer.here()
        if not self._iterating:
            self._trainer = here
        return here

    @property
    def _search(self) -> Search:
        if self._search_index is None:
            self._search_index = self._make_search(self._engine.inputs)
        return self._search_index

    @property
    def graph_(self) -> Graph:
        check_is_fitted(self, "history_")
        return self._engine.graph

    @property
    def k_(self) -> int:
        return self.graph_.k

    # --- Algorithm 2 -------------------------------------------------------------------------------

    def predict(self, X: Any, *, neighbors: Any = None) -> Any:
        """Outputs of new points (eq. 21); None where no predictor nearby has learned anything."""
        points = self._meet(X, neighbors)
        outputs = self._outside(points.codes(), points.inputs.starts)
        unreached = np.flatnonzero(~points.reached)
        if len(unreached):
            outputs = outputs.astype(object) if isinstance(outputs, np.ndarray) else outputs
            for i in unreached:
                outputs[i] = None
        return outputs

    @available_if(lambda self: not isinstance(self.space, Sequences))
    def decision_function(self, X: Any, *, neighbors: Any = None) -> np.ndarray:
        """Mean score of every class, leaf or label, shape (n, q); for two classes the difference, (n,)."""
        scores, _ = self._meet(X, neighbors).potentials()
        if isinstance(self.space_, Classes) and scores.shape[1] == 2:
            return scores[:, 1] - scores[:, 0]
        return scores

    def _meet(self, X: Any, neighbors: Any) -> NewPoints:
        """New points among the training points."""
        check_is_fitted(self, "history_")
        new, engine = check_inputs(self, X, self.space_, reset=False), self._engine
        rows, sparse = new.rows, sp.issparse(engine.inputs.rows)
        if sp.issparse(rows) != sparse:
            rows = sp.csr_matrix(rows) if sparse else rows.toarray()
        new = Inputs(rows.astype(engine.dtype, copy=False), new.starts)
        if neighbors is None:
            distances, nearest = self._search.of(self._points(new), engine.graph.k)
        else:
            table = given_graph(neighbors, len(new), len(engine.inputs))
            distances, nearest = table.distances, table.neighbors
        share = self._shares(distances).astype(engine.dtype)
        start_scores = None if self._shared is None else self._shared.scores(self.space_, new)
        points = NewPoints(engine, new, nearest, share, start_scores)
        if not self.own_predictor:
            return points
        with_itself = np.hstack([np.zeros((len(new), 1)), distances])
        etas = map(self._eta, range(1, self.n_iter_ + 1))
        return points.with_own(
            distances, self._shares(with_itself), self._shared_start, self._Y, etas, self.C
        )

    def _shares(self, distances: np.ndarray) -> np.ndarray:
        return shares(distances, self.weights, self.graph_.bandwidth)

    # --- why -----------------------------------------------------------------------------------------

    def explain(self, point: Any, *, neighbors: Any = None) -> Explanation:
        """Why a point has its output: who voted, how, and which labelled points it comes from.

        Parameters
        ----------
        point : index of a training point, or the input of a new one.
        """
        check_is_fitted(self, "history_")
        if isinstance(point, Integral):
            last = len(self._engine.inputs) - 1
            if not 0 <= int(point) <= last:
                raise ValueError(f"point must be an index from 0 to {last}; got {point}.")
            return explain_training_point(self._engine, self._Y, self._given, int(point))
        X = [point] if isinstance(self.space_, Sequences) or not sp.issparse(point) else point
        return explain_new_point(self._meet(X, neighbors), self._Y, self._given)

    # --- keeping -------------------------------------------------------------------------------------

    def save(self, path: str | Path, features: Features | None = None) -> None:
        """Write the model to a `.sslsop` file; `load_model` reads it back.

        With the fitted pipeline that made X, the loaded model also predicts from raw inputs.
        """
        from .modelfile import save_model

        check_is_fitted(self, "history_")
        save_model(self, path, features or self.features_)

    def predict_inputs(self, inputs: Any) -> Any:
        """Outputs of raw inputs (images, sentences, table rows), for a model saved with its features."""
        if self.features_ is None:
            raise ValueError("This model was saved without features; call predict with rows of X.")
        return self.predict(self.features_.transform(inputs))

    # --- the door ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self._check_space()
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        for name in ("k", "max_iter"):
            check_count(name, getattr(self, name))
        check_count("latent", self.latent, least=0)
        for name in ("intercept", "include_self", "own_predictor"):
            check_choice(name, getattr(self, name), (True, False))
        check_choice("anchor", self.anchor, (True, False, "auto"))
        check_number("C", self.C, least=0.0)
        check_number("tol", self.tol, least=0.0)
        check_number("transitions", self.transitions, least=0.0, strictly=True)
        if self.memory_limit is not None:
            check_number("memory_limit", self.memory_limit, least=0.0)
        for name in ("eta", "gamma", "scale"):
            if getattr(self, name) != "auto":
                check_number(name, getattr(self, name), least=0.0, strictly=True, auto=True)
        if self.eta == "auto" and self.C == 0:
            raise ValueError('eta="auto" is 1 / (C t) and needs C > 0; got C=0. Give eta as a number.')
        if self.eta != "auto" and float(self.eta) * self.C > 1:
            raise ValueError(
                f"eta * C must be at most 1, or predictors overshoot zero; got eta={self.eta}, C={self.C}. "
                "Lower one of them."
            )


def _silent(phase: str, share: float) -> None:
    """Progress that nobody asked for."""
