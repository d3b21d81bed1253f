"""One global structural predictor: smoothed structural hinge, minimised with L-BFGS.

    min_w  lam/2 |w|^2 + sum_i c_i H(x_i, y_i; w),
    H = tau log sum_z exp((w.Phi(x, z) + Delta(y, z)) / tau) - w.Phi(x, y)

H lies between the structural hinge and the hinge + tau log|Y|. With tau = 1 and no Delta it is the
negative log-likelihood of a conditional random field. A predictor acts through *potentials*: unary
scores V = X W (tokens, q), for a tree over its nodes, and transitions T (q, q) for sequences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numba import njit
from scipy.optimize import minimize

from .blas import one_blas_thread
from .chains import path_score, posterior
from .inputs import Matrix
from .labelsets import LabelSets
from .sequences import Sequences
from .spaces import OutputSpace, TreeLeaves

TAUS = (0.5, 0.1)


@dataclass(frozen=True, eq=False)
class Weights:
    """A global predictor: W (d, p) on the features, T (q, q) on the transitions (zero if there are none)."""

    W: np.ndarray
    T: np.ndarray

    @property
    def square_norm(self) -> float:
        return float(np.sum(self.W**2) + np.sum(self.T**2))


def fit_weights(
    space: OutputSpace,
    rows: Matrix,
    starts: np.ndarray,
    codes: np.ndarray,
    lam: float,
    *,
    costs: np.ndarray | None = None,
    start: Weights | None = None,
    taus: tuple[float, ...] = TAUS,
    margin: bool = True,
    max_iter: int = 200,
    tol: float = 1e-9,
) -> Weights:
    """Minimise the objective above on points with known outputs.

    Parameters
    ----------
    rows, starts : tokens of the inputs and where each input begins.
    codes : their outputs, in the space's layout.
    costs : c_i, by default 1/n each.
    taus : decreasing smoothings, each solved from the solution of the one before; from a `start` only the
        last.
    margin : whether Delta takes part; without it and with taus=(1,) this is a random field.
    tol : stop when a step lowers the objective by less than this share of it.
    """
    n, d = len(starts) - 1, rows.shape[1]
    p, q = _width(space), len(space)
    costs = np.full(n, 1.0 / n) if costs is None else np.asarray(costs, dtype=float)
    with_T = isinstance(space, Sequences)

    def value_and_gradient(w: np.ndarray, tau: float) -> tuple[float, np.ndarray]:
        W, T = w[: d * p].reshape(d, p), w[d * p :].reshape(q, q) if with_T else np.zeros((q, q))
        values, dV, dT = smoothed_hinge(space, np.asarray(rows @ W), T, starts, codes, costs, tau, margin)
        gradient = np.concatenate([(rows.T @ dV).ravel(), dT.ravel()]) if with_T else (rows.T @ dV).ravel()
        return lam / 2 * w @ w + values, gradient + lam * w

    w = np.zeros(d * p + with_T * q * q)
    if start is not None:
        w = np.concatenate([start.W.ravel(), start.T.ravel()])[: len(w)]
    options = {"maxiter": max_iter, "ftol": tol}
    # Many short products: waking BLAS threads for each costs more than it saves (40 times on a busy machine).
    with one_blas_thread():
        for tau in taus if start is None else taus[-1:]:
            w = minimize(value_and_gradient, w, (tau,), "L-BFGS-B", jac=True, options=options).x
    return Weights(w[: d * p].reshape(d, p), w[d * p :].reshape(q, q) if with_T else np.zeros((q, q)))


def _width(space: OutputSpace) -> int:
    """Columns of W: one per class, node, tag or label."""
    return space.embedding.shape[1] if isinstance(space, TreeLeaves) else len(space)


def scores(space: OutputSpace, rows: Matrix, weights: Weights) -> np.ndarray:
    """Scores per token: of every output (classes, leaves), tag or label, shape (tokens, q)."""
    V = np.asarray(rows @ weights.W)
    return V @ space.embedding.T if isinstance(space, TreeLeaves) else V


def smoothed_hinge(space, V, T, starts, codes, costs, tau, margin):
    """sum_i c_i H_i and its gradients with respect to the potentials V and T."""
    if not isinstance(space, TreeLeaves):  # each column of V is an output, tag or label itself
        return hinge_of_scores(space, V, T, starts, codes, costs, tau, margin)
    value, dS, dT = hinge_of_scores(space, V @ space.embedding.T, T, starts, codes, costs, tau, margin)
    return value, dS @ space.embedding, dT


def hinge_of_scores(space, S, T, starts, codes, costs, tau, margin):
    """The same with respect to scores S: for a tree those of its leaves in place of its nodes."""
    if isinstance(space, Sequences):
        dS, dT = np.zeros_like(S), np.zeros_like(T)
        hamming = space.loss_name == "hamming"
        value = _chain_hinge(S, T, starts, codes, costs, tau, margin, hamming, dS, dT)
        return value, dS, dT
    hinge = _set_hinge if isinstance(space, LabelSets) else _listed_hinge
    value, dS = hinge(space, S, codes, costs, tau, margin)
    return value, dS, np.zeros(T.shape)  # unlike zeros_like, no memory is touched: T may be large


def _listed_hinge(space, S, codes, costs, tau, margin):
    losses = space.loss_matrix if margin else np.zeros_like(space.loss_matrix)
    dS = np.empty(S.shape)
    return _softmax_hinge(S, losses, codes, costs, tau, dS), dS


@njit(nogil=True, cache=True)
def _softmax_hinge(S, losses, codes, costs, tau, dS):
    total = 0.0
    for i, y in enumerate(codes):
        highest = -np.inf
        for z in range(S.shape[1]):
            dS[i, z] = (S[i, z] + losses[y, z]) / tau
            highest = max(highest, dS[i, z])
        mass = 0.0
        for z in range(S.shape[1]):
            dS[i, z] = np.exp(dS[i, z] - highest)
            mass += dS[i, z]
        for z in range(S.shape[1]):
            dS[i, z] *= costs[i] / mass
        dS[i, y] -= costs[i]
        total += costs[i] * (tau * (highest + np.log(mass)) - S[i, y])
    return total


def _set_hinge(space, S, codes, costs, tau, margin):
    q = len(space)
    own = np.einsum("ij,ij->i", codes, S)
    if margin and space.loss_name == "hamming":
        # Labels are independent: in with s + [y=0]/q, out with [y=1]/q.
        inside, outside = (S + (codes == 0) / q) / tau, (codes == 1) / (q * tau)
        log_z = np.logaddexp(inside, outside)
        return costs @ (tau * log_z.sum(axis=1) - own), costs[:, None] * (np.exp(inside - log_z) - codes)
    log_z = np.logaddexp(S / tau, 0.0)
    marginals, total = np.exp(S / tau - log_z), log_z.sum(axis=1)
    if margin:
        marginals, total = _lift_others(marginals, codes, own, total, tau)
    return costs @ (tau * total - own), costs[:, None] * (marginals - codes)


def _lift_others(marginals, indicator, own, log_z, tau):
    """Marginals and log partition after every output but y gains 1 (0-1 loss), in closed form."""
    lift = np.exp(1.0 / tau)
    p_own = np.exp(np.minimum(own / tau - log_z, 0.0))
    mass = p_own + lift * (1.0 - p_own)
    lifted = (lift * marginals + ((1.0 - lift) * p_own)[:, None] * indicator) / mass[:, None]
    return lifted, log_z + np.log(mass)


@njit(nogil=True, cache=True)
def _chain_hinge(V, T, starts, codes, costs, tau, margin, hamming, dV, dT):
    q = V.shape[1]
    lift = np.exp(1.0 / tau)
    total = 0.0
    for i in range(len(starts) - 1):
        rows = slice(starts[i], starts[i + 1])
        U, y = V[rows] / tau, codes[rows]
        length = len(y)
        if margin and hamming:
            for t in range(length):
                for a in range(q):
                    U[t, a] += (a != y[t]) / (length * tau)
        pairs = np.zeros((q, q))
        log_z = posterior(U, T / tau, dV[rows], pairs, 1.0)
        own = path_score(V[rows], T, y)
        share_all, share_own = 1.0, 0.0
        if margin and not hamming:  # every sequence but y gains 1: rescale all, take y's share back
            p_own = np.exp(min(own / tau - log_z, 0.0))
            mass = p_own + lift * (1.0 - p_own)
            share_all, share_own = lift / mass, (1.0 - lift) * p_own / mass
            log_z += np.log(mass)
        total += costs[i] * (tau * log_z - own)
        dV[rows] *= costs[i] * share_all
        dT += costs[i] * share_all * pairs
        for t in range(length):
            dV[starts[i] + t, y[t]] += costs[i] * (share_own - 1.0)
            if t > 0:
                dT[y[t - 1], y[t]] += costs[i] * (share_own - 1.0)
    return total


def with_intercept(rows: Matrix) -> Matrix:
    """The rows with a constant feature appended."""
    ones = np.ones((rows.shape[0], 1), dtype=rows.dtype)
    return sp.hstack([rows, ones], format="csr") if sp.issparse(rows) else np.hstack([rows, ones])
