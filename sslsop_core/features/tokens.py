"""Tagging: sparse features of each token and of its neighbors in the sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from .base import Features

Token = tuple[str, ...]  # the word, then further columns such as its part of speech
TEMPLATES = 16  # features that a word of five letters or more has, inside a sentence
CONTEXT = ("shape=", "-2:", "-1:", "+1:", "+2:")  # templates of the second view


def word_shape(word: str) -> str:
    """Capitals, small letters and digits by class, repeats cut.

    >>> word_shape("Mercosur-2000")
    'Xx-d'
    """
    return re.sub(r"(.)\1+", r"\1", "".join(map(_letter_class, word[:40])))


def _letter_class(c: str) -> str:
    if c.isdigit():
        return "d"
    return ("X" if c.isupper() else "x") if c.isalpha() else c


def token_features(sentence: Sequence[Token], t: int) -> list[str]:
    """Names of the features that token t of a sentence has."""
    word, *others = sentence[t]
    names = [*_own_features(word), *(f"col{c}={value}" for c, value in enumerate(others, 1))]
    for offset in (-2, -1, 1, 2):
        inside = 0 <= t + offset < len(sentence)
        names += _near_features(sentence[t + offset][0], offset) if inside else [f"{offset:+d}:edge"]
    return names


@lru_cache(maxsize=50_000)  # words repeat, most of all the frequent ones
def _own_features(word: str) -> list[str]:
    affixes = [f"pre={word[:k]}" for k in (1, 2, 3) if len(word) > k]
    affixes += [f"suf={word[-k:]}" for k in (1, 2, 3, 4) if len(word) > k]
    return [f"w={word}", f"low={word.lower()}", f"shape={word_shape(word)}", *affixes]


@lru_cache(maxsize=200_000)
def _near_features(word: str, offset: int) -> list[str]:
    names = [f"{offset:+d}:low={word.lower()}"]
    return [*names, f"{offset:+d}:shape={word_shape(word)}"] if abs(offset) == 1 else names


class TokenFeatures(Features):
    """Word, lower case, shape, prefixes, suffixes and neighbors of each token, vectorised sparsely.

    Inputs are sentences: sequences of words, or of tuples whose first entry is the word. X is a
    list of CSR matrices (length, d), each row divided by the square root of the number of templates.

    Parameters
    ----------
    min_count : a feature is kept when at least this many training tokens have it.
    """

    tag = "tokens"
    allowed: ClassVar = {"min_count": (1, 10**6)}
    learned: ClassVar = {"vocabulary_": ("u1", ("bytes",))}

    def __init__(self, min_count: int = 2):
        self.min_count = min_count

    def prepare(self, inputs: Any) -> list[tuple[Token, ...]]:
        return [_tokens(i, sentence) for i, sentence in enumerate(inputs)]

    def learn(self, prepared: list[tuple[Token, ...]]) -> Self:
        try:
            counter = CountVectorizer(analyzer=list, min_df=self.min_count).fit(_all_features(prepared))
        except ValueError:
            raise ValueError(
                f"no token feature occurs min_count={self.min_count} times in {len(prepared)} sentences; "
                "lower min_count or add sentences."
            ) from None
        self.vocabulary_ = np.frombuffer(json.dumps(sorted(counter.vocabulary_)).encode(), dtype=np.uint8)
        return self

    def apply(self, prepared: list[tuple[Token, ...]]) -> list[sparse.csr_matrix]:
        counter = CountVectorizer(analyzer=list, binary=True, vocabulary=self.names(), dtype=np.float64)
        rows = sparse.csr_matrix(counter.transform(_all_features(prepared)) / np.sqrt(TEMPLATES))
        starts = np.concatenate([[0], np.cumsum([len(sentence) for sentence in prepared])])
        return [rows[a:b] for a, b in pairwise(starts)]

    def names(self) -> list[str]:
        """What each column of X stands for, such as `shape=Xx`."""
        return json.loads(self.vocabulary_.tobytes())

    def views(self) -> tuple[np.ndarray, np.ndarray]:
        context = np.array([name.startswith(CONTEXT) for name in self.names()])
        return np.flatnonzero(~context), np.flatnonzero(context)

    def columns_in(self, whole: Self) -> np.ndarray:
        place = {name: column for column, name in enumerate(whole.names())}
        return np.array([place[name] for name in self.names()])

    def check_learned(self) -> None:
        try:
            names = self.names()
        except ValueError:
            raise ValueError("array 'vocabulary_' must be JSON text; the file is damaged.") from None
        sound = isinstance(names, list) and names and all(isinstance(name, str) for name in names)
        if not sound or len(set(names)) < len(names):
            raise ValueError("array 'vocabulary_' must list distinct names; the file is damaged.")


def _tokens(i: int, sentence: Any) -> tuple[Token, ...]:
    if isinstance(sentence, str) or not len(sentence):
        raise ValueError(f"inputs[{i}] = {sentence!r} must be a sequence of words, not text; split it first.")
    tokens = tuple((token,) if isinstance(token, str) else token for token in sentence)
    for token in tokens:
        if not isinstance(token, (tuple, list)) or not token or not all(isinstance(v, str) for v in token):
            raise ValueError(f"inputs[{i}] must hold words or tuples of text; got {token!r:.80}.")
    return tuple(map(tuple, tokens))


def _all_features(sentences: Sequence[Sequence[Token]]) -> Iterator[list[str]]:
    return chain.from_iterable((token_features(s, t) for t in range(len(s))) for s in sentences)
