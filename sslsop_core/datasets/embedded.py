"""Real data that comes with the package: digits, digits with a tree, Cora, handwritten words."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from scipy import sparse

from ..features import Pixels, WordsAndLinks
from ..sequences import Sequences
from ..spaces import Classes, Name, TreeLeaves
from .problem import Problem

ASSETS = Path(__file__).resolve().parents[2] / "assets"  # beside the package, in the clone or installed
LETTERS = "abcdefghijklmnopqrstuvwxyz"
CORA_CLASSES = (
    "Neural_Networks",
    "Rule_Learning",
    "Reinforcement_Learning",
    "Probabilistic_Methods",
    "Theory",
    "Genetic_Algorithms",
    "Case_Based",
)


@cache
def asset(name: str) -> dict[str, np.ndarray]:
    """The arrays of one packed file."""
    with np.load(ASSETS / name, allow_pickle=False) as packed:
        return {key: packed[key] for key in packed}


def layout_of(name: str) -> np.ndarray | None:
    """The precomputed map of an embedded set, (n, 2) float32; made by assets/build.py."""
    maps = asset("layouts.npz")
    return maps[name].astype(np.float32) if name in maps else None


@cache
def _digits() -> tuple[np.ndarray, list[str]]:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images = np.round(bunch.images * 255 / 16).astype(np.uint8)
    return images, [str(digit) for digit in bunch.target.tolist()]


def digits() -> Problem:
    """Handwritten digits, 8 x 8 pixels: which of ten?"""
    images, y = _digits()
    return Problem("digits", y, Classes("0123456789"), inputs=images, features=Pixels())


def digits_tree() -> Problem:
    """The same digits as leaves of a tree: digits that look alike are near each other in it."""
    images, y = _digits()
    return Problem("digits_tree", y, TreeLeaves(digit_tree()), inputs=images, features=Pixels())


def digit_tree() -> dict[Name, Name]:
    """child -> parent, from agglomerative (Ward) clustering of the class means."""
    from sklearn.cluster import AgglomerativeClustering

    images, y = _digits()
    rows = images.reshape(len(images), -1).astype(float)
    means = np.stack([rows[np.array(y) == digit].mean(axis=0) for digit in "0123456789"])
    members = list("0123456789")  # what lies below each node, leaves first
    parents = {}
    for left, right in AgglomerativeClustering(n_clusters=None, distance_threshold=0).fit(means).children_:
        joined = "".join(sorted(members[left] + members[right]))
        members.append(joined)
        parents[members[left]] = parents[members[right]] = joined
    # Leaves first and in order, so that the space lists its names as 0 to 9.
    return {child: parents[child] for child in sorted(parents, key=lambda node: (len(node), node))}


def cora(linked_only: bool = False, self_link: bool = True) -> Problem:
    """Machine-learning papers by their words and citations: which of seven fields?

    `linked_only` drops the papers that cite nobody, as the paper does; `self_link` lets a paper
    cite itself, which brings it near to the papers that cite it.
    """
    packed = asset("cora.npz")
    n, n_words = int(packed["labels"].size), int(packed["n_words"][0])
    words = sparse.csr_matrix(
        (np.ones(packed["words"].size), packed["words"].astype(np.int32), packed["starts"].astype(np.int32)),
        shape=(n, n_words),
    )
    citing, cited = packed["citing"].astype(np.int32), packed["cited"].astype(np.int32)
    links = sparse.csr_matrix((np.ones(citing.size), (citing, cited)), shape=(n, n))
    y = [CORA_CLASSES[code] for code in packed["labels"].tolist()]
    return citation_problem("cora", words, links, y, linked_only=linked_only, self_link=self_link)


def citation_problem(
    name: str,
    words: sparse.csr_matrix,
    links: sparse.csr_matrix,
    y: list[str],
    *,
    idf: bool = True,
    linked_only: bool,
    self_link: bool,
) -> Problem:
    """Papers with words and out-links (row cites column) as a problem with two views."""
    cites = links + sparse.eye(len(y), format="csr") if self_link else links
    inputs = sparse.hstack([words, cites], format="csr")
    if linked_only:
        kept = np.flatnonzero(np.diff(links.indptr) > 0)
        inputs, y = inputs[kept], [y[i] for i in kept]
    features = WordsAndLinks(words.shape[1], idf=idf)
    space = Classes(sorted(set(y)))
    return Problem(name, y, space, metric="cosine", inputs=inputs, features=features)


def ocr(loss: str = "zero_one") -> Problem:
    """Handwritten words as sequences of 16 x 8 letters: which letter is each?

    The first, capital letter of every word is left out by the makers of the set.
    """
    packed = asset("ocr.npz")
    pixels = np.unpackbits(packed["pixels"], axis=1).reshape(-1, 16, 8) * np.uint8(255)
    ends = np.cumsum(packed["lengths"])
    letters = [LETTERS[code] for code in packed["labels"].tolist()]
    spans = [(int(end - length), int(end)) for end, length in zip(ends, packed["lengths"], strict=True)]
    y = [tuple(letters[a:b]) for a, b in spans]
    images = [pixels[a:b] for a, b in spans]
    return Problem("ocr", y, Sequences(LETTERS, loss=loss), inputs=images, features=Pixels())
