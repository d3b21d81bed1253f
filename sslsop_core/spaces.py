"""Output spaces: what the learner may ask of Y, and the two kinds whose outputs can be listed.

Every joint feature has the form Phi(x, y) = sum_t x_t (x) e(y_t)  (+)  psi(y), with t over the
tokens of x. The learner works on *codes*: small integers, laid out by each space, -1 where an
output is unknown. Outside, an output is what the user wrote: a name, a tuple of tags, a tuple of
0/1. A *given* code says which outputs a point may take: one (given), all (missing) or some
(partly given: an inner node of the tree, a sequence or a label set with `None` in places).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

Name = Hashable


class OutputSpace(ABC):
    """What all spaces share. Ties go to the lowest code, except at w = 0, where they are drawn."""

    kind: ClassVar[str]
    names: tuple[Name, ...]
    loss_name: str = "zero_one"

    def _set_names(self, names: Sequence[Name], what: str) -> None:
        self.names = tuple(plain(name) for name in names)
        self._code = {name: code for code, name in enumerate(self.names)}
        if not self.names:
            raise ValueError(f"{what} must hold at least one name; got none.")
        if len(self._code) < len(self.names):
            twice = sorted({str(name) for name in self.names if self.names.count(name) > 1})
            raise ValueError(f"{what} must be distinct; got twice: {', '.join(twice)}.")

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputSpace) and self.spec() == other.spec()

    def __hash__(self) -> int:
        return hash((self.kind, self.names, self.loss_name))

    def __repr__(self) -> str:
        shown = ", ".join(repr(name) for name in self.names[:4]) + (", ..." if len(self) > 4 else "")
        return f"{type(self).__name__}([{shown}])"

    def spec(self) -> dict[str, Any]:
        """The space as plain data (names, kind, loss), for model files and records."""
        return {"kind": self.kind, "names": list(self.names), "loss": self.loss_name}

    # --- codes -----------------------------------------------------------------------------------

    @abstractmethod
    def encode(self, outputs: Sequence[Any], starts: np.ndarray | None = None) -> np.ndarray:
        """Given codes of `outputs`; `starts` are the token offsets of the inputs (sequences only)."""

    @abstractmethod
    def decode(self, codes: np.ndarray, starts: np.ndarray | None = None) -> list[Any]:
        """Outputs as the user writes them, `None` where a code is -1."""

    @abstractmethod
    def complete(self, given: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Mask of the points whose given code allows exactly one output."""

    @abstractmethod
    def known(self, codes: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Mask of the points that have an output."""

    @abstractmethod
    def changed(self, codes: np.ndarray, others: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Mask of the points on which two arrays of codes differ."""

    @abstractmethod
    def agree(self, codes: np.ndarray, given: np.ndarray) -> np.ndarray:
        """One point's codes moved to what is given; -1 if the given code does not settle where."""

    def take(self, codes: np.ndarray, points: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """The codes of the chosen points."""
        return codes[points]

    @abstractmethod
    def losses(self, codes: np.ndarray, others: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Delta between the outputs of every point, shape (n,)."""

    def _unknown(self, i: int, output: Any) -> ValueError:
        return ValueError(f"y[{i}] = {output!r} is not an output of {self}; use None for a missing output.")

    # --- one point at a time: the paper's notation -----------------------------------------------------

    @abstractmethod
    def dim(self, d: int) -> int:
        """m, the length of Phi(x, y) for inputs of d features."""

    @abstractmethod
    def joint_feature(self, x: np.ndarray, y: Any) -> np.ndarray:
        """Phi(x, y)."""

    @abstractmethod
    def loss(self, y: Any, y_other: Any) -> float:
        """Delta(y, y'): non-negative, zero iff the outputs are equal."""

    def score(self, x: np.ndarray, y: Any, w: np.ndarray) -> float:
        """w . Phi(x, y)."""
        return float(w @ self.joint_feature(x, y))

    @abstractmethod
    def argmax(self, x: np.ndarray, w: np.ndarray, given: Any = None) -> Any:
        """The best output under w (eq. 2), among those that `given` allows."""

    @abstractmethod
    def loss_augmented_argmax(
        self, x: np.ndarray, y: Any, w: np.ndarray, rng: np.random.Generator | None = None
    ) -> Any:
        """The output that attains the bound (eq. 7); at w = 0 drawn among the tied ones if `rng` is given."""

    def bound(self, x: np.ndarray, y: Any, w: np.ndarray) -> float:
        """The upper bound on the loss of w at (x, y) (eq. 6)."""
        z = self.loss_augmented_argmax(x, y, w)
        return self.score(x, z, w) - self.score(x, y, w) + self.loss(y, z)


def agree_in_parts(codes: np.ndarray, given: np.ndarray) -> np.ndarray:
    """`agree` for outputs made of parts: the given parts replace the current ones."""
    merged = np.where(given >= 0, given, codes).astype(codes.dtype)
    return merged if merged.min() >= 0 else np.full_like(codes, -1)


def plain(name: Any) -> Any:
    """A Python scalar for a numpy one, so that names compare and serialise as the user expects."""
    return name.item() if isinstance(name, np.generic) else name


def is_missing(output: Any) -> bool:
    """Whether a class output says "missing": None, NaN or pandas' NA (-1 is decided by the space)."""
    if output is None or (isinstance(output, float) and output != output):
        return True
    return type(output).__name__ in ("NAType", "NaTType")  # which cannot be compared with anything


class ListedSpace(OutputSpace):
    """Outputs that can be listed: y is a row of `embedding`, its loss a row of `loss_matrix`."""

    @cached_property
    @abstractmethod
    def embedding(self) -> np.ndarray:
        """Row y is e(y), shape (q, p)."""

    @cached_property
    @abstractmethod
    def loss_matrix(self) -> np.ndarray:
        """Entry [y, y'] is Delta(y, y'), shape (q, q)."""

    @property
    def zero_one(self) -> bool:
        """Whether Phi is one-hot and Delta is 0-1, which have shorter formulas."""
        return isinstance(self, Classes)

    @cached_property
    def groups(self) -> np.ndarray:
        """Row g is the mask of outputs allowed by the given code q + g, shape (number of groups, q)."""
        return np.zeros((0, len(self)), dtype=bool)

    def allowed(self, given: Any) -> np.ndarray:
        """Mask of the outputs that a given output allows, shape (q,)."""
        code = int(self.encode([given])[0])
        if code < 0:
            return np.ones(len(self), dtype=bool)
        return np.arange(len(self)) == code if code < len(self) else self.groups[code - len(self)]

    def encode(self, outputs: Sequence[Any], starts: np.ndarray | None = None) -> np.ndarray:
        codes = np.empty(len(outputs), dtype=np.int32)
        values = outputs.tolist() if isinstance(outputs, np.ndarray) else outputs
        for i, value in enumerate(values):
            codes[i] = self._given_code(i, plain(value))
        return codes

    def _given_code(self, i: int, output: Any) -> int:
        if is_missing(output):
            return -1
        try:
            return self._code[output]
        except (KeyError, TypeError):
            raise self._unknown(i, output) from None

    def decode(self, codes: np.ndarray, starts: np.ndarray | None = None) -> list[Any]:
        return [self.names[code] if code >= 0 else None for code in codes.tolist()]

    def complete(self, given: np.ndarray, starts: np.ndarray) -> np.ndarray:
        return (given >= 0) & (given < len(self))

    def known(self, codes: np.ndarray, starts: np.ndarray) -> np.ndarray:
        return codes >= 0

    def changed(self, codes: np.ndarray, others: np.ndarray, starts: np.ndarray) -> np.ndarray:
        return codes != others

    def agree(self, codes: np.ndarray, given: np.ndarray) -> np.ndarray:
        if given[0] < 0:
            return codes
        if given[0] < len(self):
            return given
        below = codes[0] >= 0 and self.groups[given[0] - len(self), codes[0]]
        return codes if below else np.full_like(codes, -1)

    def losses(self, codes: np.ndarray, others: np.ndarray, starts: np.ndarray) -> np.ndarray:
        if self.zero_one:
            return (codes != others).astype(float)
        # A point without an output pays the most.
        return np.where(others >= 0, self.loss_matrix[codes, others], self.loss_matrix.max())

    def dim(self, d: int) -> int:
        return d * self.embedding.shape[1]

    def joint_feature(self, x: np.ndarray, y: Any) -> np.ndarray:
        return np.outer(x, self.embedding[self._given_code(0, y)]).ravel()

    def loss(self, y: Any, y_other: Any) -> float:
        return float(self.loss_matrix[self._given_code(0, y), self._given_code(0, y_other)])

    def scores(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        """w . Phi(x, y) for every y at once, shape (q,)."""
        return self.embedding @ (x @ w.reshape(len(x), -1))

    def argmax(self, x: np.ndarray, w: np.ndarray, given: Any = None) -> Any:
        masked = np.where(self.allowed(given), self.scores(x, w), -np.inf)
        return self.names[int(np.argmax(masked))]

    def loss_augmented_argmax(
        self, x: np.ndarray, y: Any, w: np.ndarray, rng: np.random.Generator | None = None
    ) -> Any:
        # Phi(x, y) in eq. 7 does not depend on y', so it drops out of the argmax.
        augmented = self.scores(x, w) + self.loss_matrix[self._given_code(0, y)]
        if rng is not None and not np.any(w):
            return self.names[int(rng.choice(np.flatnonzero(augmented == augmented.max())))]
        return self.names[int(np.argmax(augmented))]


class Classes(ListedSpace):
    """One of q classes: e(y) is one-hot, Delta is the 0-1 loss.

    Missing outputs are `None`, NaN or, unless it is the name of a class, -1.

    >>> space = Classes(["cat", "dog"])
    >>> space.encode(["dog", None, "cat"])
    array([ 1, -1,  0], dtype=int32)
    >>> space.loss("cat", "dog")
    1.0
    """

    kind = "classes"

    def __init__(self, names: Sequence[Name]):
        self._set_names(names, "names")

    def _given_code(self, i: int, output: Any) -> int:
        if isinstance(output, (int, float)) and output == -1 and -1 not in self._code:
            return -1
        return super()._given_code(i, output)

    @cached_property
    def embedding(self) -> np.ndarray:
        return np.eye(len(self))

    @cached_property
    def loss_matrix(self) -> np.ndarray:
        return 1.0 - np.eye(len(self))


class TreeLeaves(ListedSpace):
    """A leaf of a tree: e(y) marks the nodes on its path, Delta is the height of the first common ancestor.

    The height of a node is the number of edges on the longest path down to a leaf below it. An
    inner node as output means "some leaf below it" (partly given).

    Parameters
    ----------
    parents : mapping child -> parent, of any depth, with one root. Leaves are nobody's parent.

    >>> space = TreeLeaves({"cat": "animal", "dog": "animal", "animal": "thing", "car": "thing"})
    >>> space.names
    ('cat', 'dog', 'car')
    >>> space.loss("cat", "dog"), space.loss("cat", "car")
    (1.0, 2.0)
    >>> space.allowed("animal")
    array([ True,  True, False])
    """

    kind = "tree"

    def __init__(self, parents: Mapping[Name, Name]):
        self.parents = {plain(child): plain(parent) for child, parent in parents.items()}
        if not self.parents:
            raise ValueError("parents must map each node to its parent; got an empty mapping.")
        self._refuse_cycles()
        inner = dict.fromkeys(self.parents.values())
        roots = [node for node in inner if node not in self.parents]
        if len(roots) > 1:
            raise ValueError(
                f"parents must form one tree; got {len(roots)} roots: {', '.join(map(str, roots[:5]))}. "
                "Give all but one of them a parent."
            )
        self.root = roots[0]
        self.nodes: tuple[Name, ...] = tuple(dict.fromkeys([*self.parents, self.root]))
        self._set_names([node for node in self.nodes if node not in inner], "leaves")
        self._node = {node: index for index, node in enumerate(self.nodes)}

    def _refuse_cycles(self) -> None:
        sound: set[Name] = set()  # nodes known to lead to a root: every node is walked once
        for start in self.parents:
            path: dict[Name, None] = {}
            node = start
            while node in self.parents and node not in sound:
                if node in path:
                    walked = [*path, node]
                    cycle = walked[walked.index(node) :]
                    raise ValueError(f"parents must not have a cycle; got {' -> '.join(map(str, cycle))}.")
                path[node] = None
                node = self.parents[node]
            sound.update(path)

    def __repr__(self) -> str:
        return f"TreeLeaves({len(self)} leaves, {len(self.nodes)} nodes)"

    def spec(self) -> dict[str, Any]:
        return super().spec() | {"edges": [[child, parent] for child, parent in self.parents.items()]}

    def path(self, node: Name) -> list[Name]:
        """The node, its parent, ..., the root."""
        walked = [node]
        while walked[-1] in self.parents:
            walked.append(self.parents[walked[-1]])
        return walked

    def _given_code(self, i: int, output: Any) -> int:
        if isinstance(output, Hashable) and output in self._node and output not in self._code:
            return -1 if output == self.root else len(self) + self._group_of[output]
        return super()._given_code(i, output)

    @cached_property
    def _group_of(self) -> dict[Name, int]:
        inner = [node for node in self.nodes if node not in self._code and node != self.root]
        return {node: group for group, node in enumerate(inner)}

    @cached_property
    def groups(self) -> np.ndarray:
        return self.embedding.T[[self._node[node] for node in self._group_of]] > 0

    @cached_property
    def embedding(self) -> np.ndarray:
        marks = np.zeros((len(self), len(self.nodes)))
        for code, leaf in enumerate(self.names):
            marks[code, [self._node[node] for node in self.path(leaf)]] = 1.0
        return marks

    @cached_property
    def heights(self) -> np.ndarray:
        """Edges on the longest path down to a leaf, for each of `nodes`."""
        heights = np.zeros(len(self.nodes))
        for leaf in self.names:
            for height, node in enumerate(self.path(leaf)):
                heights[self._node[node]] = max(heights[self._node[node]], height)
        return heights

    @cached_property
    def loss_matrix(self) -> np.ndarray:
        # In the order of their paths from the root, the leaves below any node stand side by side.
        paths = [[self._node[node] for node in self.path(leaf)] for leaf in self.names]
        order = sorted(range(len(self)), key=lambda code: paths[code][::-1])
        first, end = np.zeros(len(self.nodes), dtype=int), np.zeros(len(self.nodes), dtype=int)
        for place, code in reversed(list(enumerate(order))):
            first[paths[code]] = place
        for place, code in enumerate(order):
            end[paths[code]] = place + 1
        losses = np.zeros((len(self), len(self)))
        for row, code in zip(losses, order, strict=True):
            for below, node in pairwise(paths[code]):  # what the node adds to those below meets here first
                row[first[node] : first[below]] = row[end[below] : end[node]] = self.heights[node]
        place_of = np.argsort(order)
        return losses[np.ix_(place_of, place_of)]
