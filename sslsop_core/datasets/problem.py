"""A problem: inputs, outputs as far as they are known, and the space the outputs live in."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from ..features import Features
from ..sequences import Sequences
from ..spaces import Classes, OutputSpace, is_missing, plain
from ..splits import choose_labeled


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything a run needs, and what the app shows of it.

    Parameters
    ----------
    name : what it is called.
    y : outputs as `fit` takes them, `None` where not even the file knew.
    space : where the outputs live.
    X : (n, d) array or CSR matrix; for sequences a list of (length, d). Made from `inputs` if None.
    metric : "euclidean" or "cosine", the distance that suits X.
    inputs : raw inputs for previews and new predictions: images (n, h, w), sentences, a table.
    features : unfitted pipeline that makes X from `inputs`.
    groups : rows of one group (a patient) stay on one side of a split.
    views : two sets of columns for co-training.
    layout : (n, 2) map coordinates, where they were computed beforehand.
    report : what was understood, when the problem was read from a file.
    loaded : name and knobs, when `load` made it.

    >>> from sslsop_core import Classes
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> problem = Problem("six", list("aabbab"), Classes("ab"), X)
    >>> sorted(y for y in problem.hide(per_class=1) if y is not None)
    ['a', 'b']
    """

    name: str
    y: list[Any]
    space: OutputSpace
    X: Any = None
    metric: str = "euclidean"
    inputs: Any = None
    features: Features | None = None
    groups: np.ndarray | None = None
    views: tuple[np.ndarray, np.ndarray] | None = None
    layout: np.ndarray | None = None
    description: str = ""
    source: str = ""
    licence: str = ""
    report: Any = None
    loaded: tuple[str, dict[str, Any]] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "y", [_plain(self.space, output) for output in self.y])
        rows = isinstance(self.X, list) and not isinstance(self.space, Sequences)
        if rows or hasattr(self.X, "to_numpy"):  # lists of numbers, data frames
            object.__setattr__(self, "X", np.asarray(self.X, dtype=float))
        if self.X is None:
            object.__setattr__(self, "X", self.fitted.apply(self.prepared))
            object.__setattr__(self, "views", self.fitted.views())
        for field in ("y", "inputs", "groups", "layout"):
            value = getattr(self, field)
            length = len(self) if value is None else n_rows(value)
            if length != len(self):
                raise ValueError(f"{field} must have an entry per row of X, {len(self)}; got {length}.")

    def __len__(self) -> int:
        return n_rows(self.X)

    def __repr__(self) -> str:
        return f"Problem({self.name!r}, n={len(self)}, d={self.d}, {self.space!r})"

    def with_facts(self, **facts: Any) -> Problem:
        """A copy with some fields replaced; unlike `dataclasses.replace` it keeps what was computed."""
        twin = copy(self)
        twin.__dict__.update(facts)
        return twin

    @property
    def kind(self) -> str:
        """classes, tree, sequences or labelsets."""
        return self.space.kind

    @property
    def d(self) -> int:
        """Number of columns of X."""
        return (self.X[0] if isinstance(self.X, list) else self.X).shape[1]

    @cached_property
    def prepared(self) -> Any:
        """Inputs as far as they can be described one by one; folds share it."""
        return self._pipeline.prepare(self.inputs)

    @cached_property
    def fitted(self) -> Features:
        """The pipeline fitted on all rows: the one that made X, to be kept with a model trained on X."""
        return self.fit_features(np.arange(n_rows(self.prepared)))

    def fit_features(self, rows: Sequence[int] | np.ndarray) -> Features:
        """The pipeline fitted on some rows only."""
        pipeline = clone(self._pipeline)
        pipeline.check_params()
        return pipeline.learn(take(self.prepared, rows))

    @property
    def _pipeline(self) -> Features:
        if self.features is None or self.inputs is None:
            raise ValueError(f"{self.name!r} has no raw inputs and features; its X is all there is.")
        return self.features

    def split(self, train: Sequence[int] | np.ndarray, test: Sequence[int] | np.ndarray) -> tuple[Any, Any]:
        """X of the training and of the test rows, by features fitted on the training rows only.

        Columns mean the same as in `X`, so `views` stays true; what training never saw is zero.
        """
        if self.features is None:
            return take(self.X, train), take(self.X, test)
        pipeline = self.fit_features(train)
        columns = pipeline.columns_in(self.fitted)
        X_train, X_test = (pipeline.apply(take(self.prepared, rows)) for rows in (train, test))
        if columns is None:
            return X_train, X_test
        return [_widen(x, columns, self.d) for x in X_train], [_widen(x, columns, self.d) for x in X_test]

    def hide(self, labeled: float = 0.3, seed: int = 0, per_class: int | None = None) -> list[Any]:
        """Outputs with `None` where hidden; every class keeps an example where possible.

        Parameters
        ----------
        labeled : share of the known outputs that stay, in (0, 1].
        per_class : in place of the share, the number of examples of every class that stay.
        """
        given = choose_labeled(self.y, labeled, per_class, np.random.default_rng(seed))
        return [y if keep else None for y, keep in zip(self.y, given.tolist(), strict=True)]


def _plain(space: OutputSpace, output: Any) -> Any:
    """An output in one form of several that `fit` takes: None if missing, a tuple if it has parts."""
    if is_missing(output):
        return None
    if isinstance(output, AbstractSet):
        return tuple(int(name in output) for name in space.names)
    if isinstance(output, list | tuple | np.ndarray):
        return tuple(None if is_missing(part) else plain(part) for part in output)
    missing = isinstance(space, Classes) and output == -1 and -1 not in space.names
    return None if missing else plain(output)


def n_rows(rows: Any) -> int:
    """Number of rows of an array, a sparse matrix or a list."""
    return rows.shape[0] if sparse.issparse(rows) else len(rows)


def take(rows: Any, index: Sequence[int] | np.ndarray) -> Any:
    """Rows at `index` of an array, a sparse matrix or a list."""
    index = np.asarray(index, dtype=int)
    return [rows[i] for i in index] if isinstance(rows, list) else rows[index]


def _widen(x: sparse.csr_matrix, columns: np.ndarray, d: int) -> sparse.csr_matrix:
    wide = sparse.csr_matrix((x.data, columns[x.indices], x.indptr), shape=(x.shape[0], d))
    return wide.sorted_indices()
