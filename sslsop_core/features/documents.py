"""Documents with links: words and citations as two normalised blocks of columns."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from .base import Features


class WordsAndLinks(Features):
    """tf-idf words beside out-links, each block and then the row scaled to unit length.

    Inputs are a CSR matrix: word counts in the first `n_words` columns, then one column for each
    paper that may be cited. A paper without links is described by its words alone.

    Parameters
    ----------
    n_words : number of word columns.
    idf : whether to weight words by their inverse document frequency in the training rows.
    """

    tag = "words_and_links"
    allowed: ClassVar = {"n_words": (1, 10**7), "idf": [True, False]}
    learned: ClassVar = {"weights_": ("f8", ("words",)), "n_columns_": ("i8", (1,))}

    def __init__(self, n_words: int, idf: bool = True):
        self.n_words = n_words
        self.idf = idf

    def prepare(self, inputs: Any) -> sparse.csr_matrix:
        counts = sparse.csr_matrix(inputs, dtype=float)
        if counts.shape[1] < self.n_words:
            raise ValueError(
                f"inputs must have at least n_words={self.n_words} columns; got {counts.shape[1]}."
            )
        return counts

    def learn(self, prepared: sparse.csr_matrix) -> Self:
        self.weights_ = np.ones(self.n_words)
        if self.idf:
            self.weights_ = TfidfTransformer().fit(prepared[:, : self.n_words]).idf_
        self.n_columns_ = np.array([prepared.shape[1]], dtype=np.int64)
        return self

    def apply(self, prepared: sparse.csr_matrix) -> sparse.csr_matrix:
        if prepared.shape[1] != self.n_columns_[0]:
            raise ValueError(
                f"inputs must have the {self.n_columns_[0]} columns of training (words, then papers that "
                f"may be cited); got {prepared.shape[1]}."
            )
        words = normalize(prepared[:, : self.n_words] @ sparse.diags(self.weights_))
        links = normalize(prepared[:, self.n_words :])
        return sparse.csr_matrix(normalize(sparse.hstack([words, links], format="csr")))

    def views(self) -> tuple[np.ndarray, np.ndarray]:
        return np.arange(self.n_words), np.arange(self.n_words, int(self.n_columns_[0]))

    def check_learned(self) -> None:
        if len(self.weights_) != self.n_words or self.n_columns_[0] < self.n_words:
            raise ValueError("array 'weights_' must have n_words values; the file is damaged.")
