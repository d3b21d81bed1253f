"""Made-up problems with knobs: how hard they are is yours to set, and the truth is known."""

from __future__ import annotations

import numpy as np
from sklearn import datasets as toys

from ..bounds import require_between
from ..labelsets import LabelSets
from ..sequences import Sequences
from ..spaces import Classes, Name, TreeLeaves
from .problem import Problem

MOST = 100_000  # points that a generator makes at most


def _named(prefix: str, codes: np.ndarray) -> list[str]:
    return [f"{prefix} {code + 1}" for code in codes.tolist()]


def _class_problem(name: str, X: np.ndarray, codes: np.ndarray, word: str) -> Problem:
    names = _named(word, np.arange(codes.max() + 1))
    return Problem(name, _named(word, codes), Classes(names), X)


def moons(n: int = 400, noise: float = 0.1, seed: int = 0) -> Problem:
    """Two interleaved half circles: no line separates them, their neighborhoods do."""
    require_between("n", n, 4, MOST)
    require_between("noise", noise, 0.0, 2.0)
    X, codes = toys.make_moons(n, noise=noise, random_state=seed)
    return _class_problem("moons", X, codes, "moon")


def circles(n: int = 400, noise: float = 0.06, gap: float = 0.5, seed: int = 0) -> Problem:
    """A circle inside another; `gap` is the distance between them."""
    require_between("n", n, 4, MOST)
    require_between("noise", noise, 0.0, 2.0)
    require_between("gap", gap, 0.01, 0.99)
    X, codes = toys.make_circles(n, noise=noise, factor=1 - gap, random_state=seed)
    return _class_problem("circles", X, codes, "circle")


def spirals(
    n: int = 450, classes: int = 3, turns: float = 0.75, noise: float = 0.04, seed: int = 0
) -> Problem:
    """Arms that wind around each other: each class is long, thin and near all the others."""
    require_between("n", n, 4, MOST)
    require_between("classes", classes, 2, 12)
    require_between("turns", turns, 0.1, 4.0)
    require_between("noise", noise, 0.0, 2.0)
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % classes
    radius = np.sqrt(rng.uniform(0.02, 1.0, n))
    angle = 2 * np.pi * (codes / classes + turns * radius)
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return _class_problem("spirals", X + noise * rng.standard_normal((n, 2)), codes, "arm")


def blobs(n: int = 400, classes: int = 5, d: int = 2, overlap: float = 1.0, seed: int = 0) -> Problem:
    """A Gaussian cloud per class; `overlap` is its standard deviation, centres lie within 10 of 0."""
    require_between("n", n, 4, MOST)
    require_between("classes", classes, 2, 50)
    require_between("d", d, 1, 1000)
    require_between("overlap", overlap, 0.0, 20.0)
    X, codes = toys.make_blobs(n, n_features=d, centers=classes, cluster_std=overlap, random_state=seed)
    return _class_problem("blobs", X, codes, "blob")


def gaussian_tree(
    n: int = 540, depth: int = 2, branching: int = 3, d: int = 8, overlap: float = 0.6, seed: int = 0
) -> Problem:
    """A Gaussian cloud per leaf, near its siblings: a wrong leaf is seldom in another branch."""
    require_between("n", n, 4, MOST)
    require_between("depth", depth, 1, 5)
    require_between("branching", branching, 2, 5)
    require_between("d", d, 1, 1000)
    require_between("overlap", overlap, 0.0, 20.0)
    rng = np.random.default_rng(seed)
    parents: dict[Name, Name] = {}
    centres = {"root": np.zeros(d)}
    level = ["root"]
    for height in range(depth, 0, -1):
        children = [f"{'' if p == 'root' else p + '.'}{c}" for p in level for c in range(1, branching + 1)]
        for child, parent in zip(children, np.repeat(level, branching).tolist(), strict=True):
            parents[child] = parent
            centres[child] = centres[parent] + height * rng.standard_normal(d)
        level = children
    y = [level[i % len(level)] for i in range(n)]
    X = np.stack([centres[leaf] for leaf in y]) + overlap * rng.standard_normal((n, d))
    return Problem("gaussian_tree", y, TreeLeaves(parents), X)


def hmm(
    n: int = 200,
    length: int = 9,
    vary: int = 3,
    tags: int = 4,
    d: int = 6,
    noise: float = 0.5,
    sticky: float = 0.5,
    loss: str = "zero_one",
    seed: int = 0,
) -> Problem:
    """Sequences of a hidden Markov chain: each tag emits a noisy point, the next tag depends on it.

    Lengths lie between `length - vary` and `length + vary`; a tag stays with probability `sticky`,
    and otherwise moves on by a random table.
    """
    require_between("n", n, 4, MOST // 10)
    require_between("length", length, 1, 100)
    require_between("vary", vary, 0, length - 1)
    require_between("tags", tags, 2, 26)
    require_between("d", d, 1, 1000)
    require_between("noise", noise, 0.0, 20.0)
    require_between("sticky", sticky, 0.0, 1.0)
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((tags, d))
    moves = sticky * np.eye(tags) + (1 - sticky) * rng.dirichlet(np.full(tags, 0.4), size=tags)
    names = [chr(ord("A") + tag) for tag in range(tags)]
    X, y = [], []
    for _ in range(n):
        path = [int(rng.integers(tags))]
        for _ in range(int(rng.integers(length - vary, length + vary + 1)) - 1):
            path.append(int(rng.choice(tags, p=moves[path[-1]])))
        X.append(centres[path] + noise * rng.standard_normal((len(path), d)))
        y.append(tuple(names[tag] for tag in path))
    return Problem("hmm", y, Sequences(names, loss=loss), X)


def label_mixture(
    n: int = 400, labels: int = 5, d: int = 12, share: float = 0.3, noise: float = 0.5, seed: int = 0
) -> Problem:
    """Sets of labels: each label in the set adds its own direction to x; `share` of labels are on."""
    require_between("n", n, 4, MOST)
    require_between("labels", labels, 2, 30)
    require_between("d", d, 1, 1000)
    require_between("share", share, 0.05, 0.95)
    require_between("noise", noise, 0.0, 20.0)
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((labels, d))
    bits = (rng.uniform(size=(n, labels)) < share).astype(int)
    X = bits @ directions + noise * rng.standard_normal((n, d))
    names = _named("label", np.arange(labels))
    return Problem("label_mixture", [tuple(row) for row in bits.tolist()], LabelSets(names), X)
