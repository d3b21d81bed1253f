"""One local predictor in the paper's own form, the vector w_i, to be looked at."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .learner import SSLSOP


def local_weights(model: SSLSOP, i: int) -> np.ndarray:
    """w_i as a matrix (d, q), with a last row for the intercept if there is one; linear kernel only.

    The score of output y at x is its column's inner product with x.
    """
    engine = model._engine
    if engine.kernel.gamma is not None:
        raise ValueError('local_weights needs kernel="linear"; the predictors of "rbf" have no finite w.')
    if engine.start is not None:
        raise ValueError(
            f'local_weights needs a start at w = 0, as of init="spread"; got init="{model.init}".'
        )
    k = engine.graph.k
    rows = slice(engine.at[i * k], engine.at[(i + 1) * k])
    X = engine.inputs.rows[engine.tokens[rows]]
    X = X.toarray() if sp.issparse(X) else X
    mixed = (engine.A @ engine.mixing)[rows]
    W = X.T @ mixed / engine.kernel.scale
    return np.vstack([W, mixed.sum(axis=0)]) if engine.kernel.intercept else W


def local_outputs(model: SSLSOP, i: int, X: np.ndarray) -> np.ndarray:
    """Codes of what the predictor of one neighborhood says anywhere, near or far (eq. 2)."""
    W = local_weights(model, i)
    rows = np.hstack([X, np.ones((len(X), 1))]) if model._engine.kernel.intercept else X
    return (rows @ W).argmax(axis=1)
