"""Methods of other libraries behind the same interface; a missing library is noticed in fit only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn import semi_supervised
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from ..blas import one_blas_thread
from ..estimator import check_count, check_number
from ..inputs import Inputs, Matrix
from ..spaces import OutputSpace, TreeLeaves
from .base import Baseline, Potentials, check_graph_parameters


class Adapter(Baseline, ABC):
    """One turn, no objective of ours: training is the other library's."""

    def _turns(self) -> Iterator[float]:
        self._fit_other()
        yield np.nan

    @abstractmethod
    def _fit_other(self) -> None:
        """Train the other library's model on the training points."""

    def _columns(self, columns: np.ndarray, values: np.ndarray) -> Potentials:
        """Scores of all outputs from those that the library knows; the others come last."""
        q = len(self.space_)
        S = np.full((len(values), q), values.min(initial=0.0) - 1.0)
        S[:, columns.astype(int)] = values
        return S, np.zeros((q, q))


class LabelSpreading(Adapter):
    """Label spreading on the k-nearest-neighbor graph: scikit-learn's `LabelSpreading`.

    Minimises smoothness of label distributions over the graph plus their distance to the given labels.
    It has no predictor: a new point takes the mean of its neighbors' distributions.

    Choices of ours: the knn kernel; cosine distance is euclidean between rows of unit length.

    Wins where neighbors share their class, whatever its shape; loses where distances say little.

    Parameters
    ----------
    space : `Classes`; None infers them from y.
    k : neighbors of each point.
    alpha : share of a label that comes from the neighbors, between 0 and 1.
    metric : "euclidean" or "cosine".
    """

    kinds = ("classes",)
    search_space: ClassVar = {"k": [5, 7, 10, 15, 20, 30], "alpha": [0.05, 0.2, 0.5, 0.8]}

    def __init__(
        self,
        space: OutputSpace | None = None,
        *,
        k: int = 7,
        alpha: float = 0.2,
        metric: str = "euclidean",
        random_state: Any = 0,
    ):
        self.space = space
        self.k = k
        self.alpha = alpha
        self.metric = metric
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_space()
        check_graph_parameters(self.k, self.metric)
        check_number("alpha", self.alpha, least=0.0, strictly=True)
        if self.alpha >= 1:
            raise ValueError(f"alpha must be a number between 0 and 1; got {self.alpha!r}.")

    def _fit_other(self) -> None:
        k = min(self.k, len(self._inputs))
        self.model_ = semi_supervised.LabelSpreading(
            kernel="knn", n_neighbors=k, alpha=self.alpha, max_iter=200
        ).fit(self._rows(self._inputs), self._given)

    def _rows(self, inputs: Inputs) -> Matrix:
        return normalize(inputs.rows) if self.metric == "cosine" else inputs.rows

    def _potentials(self, inputs: Inputs) -> Potentials:
        if inputs is self._inputs:
            return self._columns(self.model_.classes_, self.model_.label_distributions_)
        with np.errstate(invalid="ignore"):  # neighbors without any label: 0 / 0, no class is better
            shares = np.nan_to_num(self.model_.predict_proba(self._rows(inputs)))
        return self._columns(self.model_.classes_, shares)


class SelfTraining(Adapter):
    """Self-training of a logistic regression: scikit-learn's `SelfTrainingClassifier`.

    Trains on the labelled points, takes over its own predictions above a threshold, and trains again
    until none is left to take.

    Choices of ours: multinomial logistic regression on features of unit mean square norm.

    Wins where confident predictions are right; confirms its own mistakes where they are not.

    Parameters
    ----------
    space : `Classes`; None infers them from y.
    threshold : probability from which a prediction is taken over.
    C : inverse weight of |w|^2, in the sense of scikit-learn.
    """

    kinds = ("classes",)
    search_space: ClassVar = {"threshold": [0.6, 0.75, 0.9, 0.97], "C": [0.1, 1.0, 10.0, 100.0]}

    def __init__(
        self,
        space: OutputSpace | None = None,
        *,
        threshold: float = 0.75,
        C: float = 10.0,
        random_state: Any = 0,
    ):
        self.space = space
        self.threshold = threshold
        self.C = C
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_space()
        check_number("threshold", self.threshold, least=0.0)
        check_number("C", self.C, least=0.0, strictly=True)

    def _fit_other(self) -> None:
        only = np.unique(self._train.codes)
        self._single = only if len(only) == 1 else None  # nothing to separate
        if self._single is None:
            base = LogisticRegression(C=self.C, max_iter=200)
            self.model_ = semi_supervised.SelfTrainingClassifier(base, threshold=self.threshold)
            with one_blas_thread():  # many short products, as in `fit_weights`
                self.model_.fit(self._coordinates(self._inputs), self._given)

    def _potentials(self, inputs: Inputs) -> Potentials:
        if self._single is not None:
            return self._columns(self._single, np.ones((len(inputs), 1)))
        return self._columns(self.model_.classes_, self.model_.predict_proba(self._coordinates(inputs)))


class CrfSuite(Adapter):
    """Linear-chain random field of CRFsuite through `sklearn-crfsuite`, labelled sequences only.

    Minimises c2 |w|^2 + c1 |w|_1 minus the log-likelihood of the labelled sequences.

    Choices of ours: every non-zero feature of a token is an attribute with its value as weight.

    A second opinion on `SupervisedCRF`; needs the package sklearn-crfsuite.

    Parameters
    ----------
    space : `Sequences`.
    c1, c2 : weights of the norms, in the sense of CRFsuite.
    max_iter : most L-BFGS iterations.
    """

    kinds = ("sequences",)
    search_space: ClassVar = {"c1": [0.0, 0.01, 0.1, 0.5], "c2": [0.001, 0.01, 0.1, 1.0]}

    def __init__(
        self,
        space: OutputSpace | None = None,
        *,
        c1: float = 0.0,
        c2: float = 0.01,
        max_iter: int = 100,
        random_state: Any = 0,
    ):
        self.space = space
        self.c1 = c1
        self.c2 = c2
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_space()
        check_number("c1", self.c1, least=0.0)
        check_number("c2", self.c2, least=0.0)
        check_count("max_iter", self.max_iter)

    def _fit_other(self) -> None:
        from sklearn_crfsuite import CRF

        train = self._train
        sentences = self._attributes(Inputs(self._inputs.rows[train.tokens], train.starts))
        tags = [[str(code) for code in part] for part in np.split(train.codes, train.starts[1:-1])]
        self.model_ = CRF("lbfgs", c1=self.c1, c2=self.c2, max_iterations=self.max_iter)
        self.model_.fit(sentences, tags)

    def _attributes(self, inputs: Inputs) -> list[list[dict[str, float]]]:
        rows = sp.csr_matrix(inputs.rows / self._scale)
        tokens = [
            {str(c): float(v) for c, v in zip(rows.indices[a:b], rows.data[a:b], strict=True)}
            for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        ]
        return [tokens[a:b] for a, b in zip(inputs.starts[:-1], inputs.starts[1:], strict=True)]

    def _potentials(self, inputs: Inputs) -> Potentials:
        # CRFsuite decodes itself: its tags come back as scores that leave no choice.
        tags = self.model_.predict(self._attributes(inputs))
        codes = np.array([int(tag) for sentence in tags for tag in sentence])
        return self._columns(np.arange(len(self.space_)), np.eye(len(self.space_))[codes])


class HierarchicalClassifier(Adapter):
    """A classifier per parent node of the tree, from `hiclass`, labelled points only.

    Trains a logistic regression at every inner node on the points below it, and predicts from the
    root down.

    Choices of ours: logistic regression on features of unit mean square norm.

    A second opinion on the trees of `SupervisedSSVM`; a wrong turn at the root is never repaired. Needs
    the package hiclass.

    Parameters
    ----------
    space : `TreeLeaves`.
    C : inverse weight of |w|^2, in the sense of scikit-learn.
    """

    kinds = ("tree",)
    search_space: ClassVar = {"C": [0.1, 1.0, 10.0, 100.0]}

    def __init__(self, space: OutputSpace | None = None, *, C: float = 10.0, random_state: Any = 0):
        self.space = space
        self.C = C
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._check_space()
        check_number("C", self.C, least=0.0, strictly=True)

    def _fit_other(self) -> None:
        from hiclass import LocalClassifierPerParentNode

        paths = self._paths()[self._train.codes]
        self.model_ = LocalClassifierPerParentNode(LogisticRegression(C=self.C, max_iter=500))
        self.model_.fit(self._coordinates(self._inputs)[self._train.tokens], paths)

    def _paths(self) -> np.ndarray:
        """Nodes from below the root down to each leaf, by number; short paths end with empty text."""
        space = self.space_
        assert isinstance(space, TreeLeaves)
        number = {node: f"node {i}" for i, node in enumerate(space.nodes)}
        paths = [[number[node] for node in reversed(space.path(leaf)[:-1])] for leaf in space.names]
        depth = max(map(len, paths))
        return np.array([path + [""] * (depth - len(path)) for path in paths], dtype=object)

    def _potentials(self, inputs: Inputs) -> Potentials:
        code = {tuple(path): i for i, path in enumerate(self._paths().tolist())}
        predicted = self.model_.predict(self._coordinates(inputs)).tolist()
        codes = np.array([code[tuple(path)] for path in predicted])
        return self._columns(np.arange(len(self.space_)), np.eye(len(self.space_))[codes])
