"""Model files: safetensors with a versioned JSON header. Nothing in them can run, nothing is trusted.

A file holds what Algorithm 2, `explain` and `resume` need: the training inputs, the neighborhoods, the
coefficients, the outputs and the history. Scores and Gram blocks are computed again when asked for.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from safetensors import SafetensorError
from safetensors.numpy import load, save

from .engine import ChainEngine, engine_for
from .features import Features, from_state
from .hybrid_start import QuadraticPredictor
from .inputs import Inputs
from .kernels import Kernel
from .labelsets import LabelSets
from .learner import SSLSOP, Iteration
from .neighbors import Graph, given_graph, shares
from .sequences import Sequences
from .shared import Shared, SharedPredictor
from .spaces import Classes, ListedSpace, OutputSpace, TreeLeaves
from .ssvm import Weights

VERSION = 2
# Parameters that have their own place in the file, or belong to the machine and not to the model.
NOT_KEPT = ("space", "random_state", "n_jobs", "memory_limit", "engine")

# What an output space may take in memory, whatever the size of the file.
ROOM = 2**26


def save_model(model: SSLSOP, path: str | Path, features: Features | None = None) -> None:
    """Write the model; an existing file is replaced only once the new one is complete.

    Raises
    ------
    ValueError : if it cannot be written: the folder is read-only, or the disk is full.
    """
    path = Path(path)
    data = dump_model(model, features)
    try:
        _replace(path, data)
    except OSError as error:
        raise ValueError(
            f"path must be a file that can be written; {str(path)!r:.200} cannot ({error.strerror}). "
            "Choose another folder, or make room."
        ) from error


def _replace(path: Path, data: bytes) -> None:
    """Write beside the file, make sure that it is on the disk, then take the file's place in one step."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def dump_model(model: SSLSOP, features: Features | None = None) -> bytes:
    """The bytes of a model file; with fitted `features` the model predicts from raw inputs."""
    engine = model._engine
    shared, kernel = model._shared, engine.kernel
    parameters = {k: v for k, v in model.get_params(deep=False).items() if k not in NOT_KEPT}
    if model.views is not None:
        parameters["views"] = [np.asarray(view).tolist() for view in model.views]
    header = {
        "space": engine.space.spec(),
        "parameters": parameters,
        "inferred": model.space is None,
        "init": model.init_,
        "seed": model._seed,
        "kernel": asdict(kernel),
        "bandwidth": engine.graph.bandwidth,
        "start_weight": engine.start_weight,
        "stop_reason": model.stop_reason_,
        "n_features": engine.inputs.d,
    }
    tensors = {
        "starts": engine.inputs.starts,
        "neighbors": engine.graph.neighbors,
        "distances": engine.graph.distances,
        "coefficients": engine.A,
        "learned": engine.learned,
        "square_norm": engine.square_norm,
        "given": model._given,
        "outputs": model._Y,
        **_pack_rows("rows", engine.inputs.rows),
        **_pack_history(model.history_),
    }
    if isinstance(engine, ChainEngine):
        tensors["transitions"] = engine.T
    if model._idf is not None:
        tensors["idf"] = model._idf
    if isinstance(shared, QuadraticPredictor):
        tensors |= {f"hybrid.{field.name}": getattr(shared, field.name) for field in fields(shared)}
    if isinstance(shared, SharedPredictor):
        tensors |= {"shared.W": shared.weights.W, "shared.T": shared.weights.T}
        if shared.support is not None and shared.whiten is not None:
            tensors |= _pack_rows("support", shared.support.rows) | {"shared.whiten": shared.whiten}
    if features is not None:
        header["features"], arrays = features.to_state()
        tensors |= {f"features.{name}": array for name, array in arrays.items()}
    # One entry only: safetensors writes several in any order, and equal models shall be equal files.
    metadata = {"sslsop": json.dumps({"version": VERSION, "model": header})}
    return save({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}, metadata)


def load_model(source: str | Path | bytes) -> SSLSOP:
    """Read a model file, given as a path or as its bytes.

    Raises
    ------
    ValueError : if the file is not a whole, sound model file of a version this library knows.
    """
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    try:
        header, tensors = _open(data)
        return _restore(header, _Tensors(tensors))
    except (
        SafetensorError,
        LookupError,
        TypeError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        MemoryError,
    ) as error:
        raise ValueError(f"The model file is damaged: {type(error).__name__}: {error!s:.200}.") from error


def _open(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and tensors; the lengths a file claims are checked against its size before use."""
    if len(data) < 8 or (length := int.from_bytes(data[:8], "little")) > len(data) - 8:
        raise ValueError("The model file is cut short, or is not a model file.")
    try:
        metadata = json.loads(data[8 : 8 + length]).get("__metadata__", {})
    except (ValueError, AttributeError) as error:
        raise ValueError("This is not a model file.") from error
    if "sslsop" not in metadata:
        raise ValueError("This is not a SSLSOP model file, though it has the same container.")
    told = json.loads(metadata["sslsop"])
    version = told["version"]
    if version != VERSION:
        older = isinstance(version, int) and version < VERSION
        way_out = "Train and save the model again." if older else "Upgrade the library."
        raise ValueError(
            f"The model file has version {version!r:.20}; this library reads {VERSION}. {way_out}"
        )
    return told["model"], load(data)


class _Tensors:
    """Tensors of a file, handed out only in the shape and range that the reader expects."""

    def __init__(self, tensors: dict[str, np.ndarray]):
        self._tensors = tensors

    @property
    def nbytes(self) -> int:
        return sum(tensor.nbytes for tensor in self._tensors.values())

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def named(self, prefix: str) -> dict[str, np.ndarray]:
        """Tensors whose names begin with the prefix, without it; unchecked."""
        return {name[len(prefix) :]: t for name, t in self._tensors.items() if name.startswith(prefix)}

    def numbers(self, name: str, *shape: int | None) -> np.ndarray:
        tensor = self._shaped(name, shape)
        if tensor.dtype not in (np.float32, np.float64) or not np.isfinite(tensor).all():
            raise ValueError(f"The model file is damaged: {name} must hold finite numbers.")
        return tensor

    def integers(self, name: str, low: int, high: int, *shape: int | None) -> np.ndarray:
        """Integers in low..high-1; compiled loops use them as indices without another check."""
        tensor = self._shaped(name, shape)
        if tensor.dtype.kind not in "iu" or (tensor.size and (tensor.min() < low or tensor.max() >= high)):
            raise ValueError(f"The model file is damaged: {name} must hold integers in {low}..{high - 1}.")
        return tensor

    def flags(self, name: str, *shape: int | None) -> np.ndarray:
        tensor = self._shaped(name, shape)
        if tensor.dtype != np.bool_:
            raise ValueError(f"The model file is damaged: {name} must hold true or false.")
        return tensor

    def offsets(self, name: str, least: int) -> np.ndarray:
        """Offsets from 0 that grow by at least `least`."""
        tensor = self._shaped(name, (None,)).astype(np.int64)
        if len(tensor) < 2 or tensor[0] != 0 or np.any(np.diff(tensor) < least):
            raise ValueError(f"The model file is damaged: {name} must be increasing offsets.")
        return tensor

    def _shaped(self, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
        tensor = self._tensors[name]
        sound = len(tensor.shape) == len(shape) and all(
            want is None or have == want for have, want in zip(tensor.shape, shape, strict=True)
        )
        if not sound:
            raise ValueError(f"The model file is damaged: {name} has shape {tensor.shape}, not {shape}.")
        return tensor

    def matrix(self, name: str, d: int) -> Any:
        """A dense or CSR matrix of d columns, as `_pack_rows` wrote it."""
        if name in self:
            return np.ascontiguousarray(self.numbers(name, None, d))
        data = self.numbers(f"{name}.data", None)
        indices = self.integers(f"{name}.indices", 0, d, len(data)).astype(np.int32)
        indptr = self.offsets(f"{name}.indptr", 0).astype(np.int32)
        if indptr[-1] != len(data):
            raise ValueError(f"The model file is damaged: {name}.indptr does not fit the data.")
        return sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, d))


def _pack_rows(name: str, rows: Any) -> dict[str, np.ndarray]:
    if sp.issparse(rows):
        return {f"{name}.data": rows.data, f"{name}.indices": rows.indices, f"{name}.indptr": rows.indptr}
    return {name: rows}


def _pack_history(history: list[Iteration]) -> dict[str, np.ndarray]:
    if not history:
        return {}
    return {
        "history.objective": np.array([turn.objective for turn in history]),
        "history.counts": np.array([(turn.n_changed, turn.n_unreached) for turn in history], dtype=np.int64),
        "history.outputs": np.stack([turn.outputs for turn in history]),
    }


def _restore(header: dict[str, Any], tensors: _Tensors) -> SSLSOP:
    space = space_from_spec(header["space"])
    seed = _between("seed", int(header["seed"]), 0, 2**31 - 1)
    model = SSLSOP(None if header["inferred"] else space, random_state=seed, **header["parameters"])
    model._check_parameters()
    _require_room(space, tensors.nbytes)
    q, d = len(space), int(header["n_features"])
    inputs = Inputs(tensors.matrix("rows", d), tensors.offsets("starts", 1))
    n, tokens = len(inputs), inputs.rows.shape[0]
    if inputs.starts[-1] != tokens or (n != tokens and not isinstance(space, Sequences)):
        raise ValueError("The model file is damaged: starts do not fit the rows.")
    found = tensors.integers("neighbors", 0, n, n, None), tensors.numbers("distances", n, None)
    table = given_graph(found, n, n)
    graph = Graph(table.neighbors, table.distances, _positive(header["bandwidth"]))
    kernel = _kernel(header["kernel"])
    # Before an engine makes arrays of these shapes.
    coefficients = tensors.numbers("coefficients", int(inputs.lengths[graph.neighbors].sum()), q)
    transitions = tensors.numbers("transitions", n, q, q) if isinstance(space, Sequences) else None

    model.space_, model.n_features_in_ = space, d
    model._seed = seed
    model._idf = tensors.numbers("idf", d) if "idf" in tensors else None
    groups = len(space.groups) if isinstance(space, ListedSpace) else 0
    model._given = _codes(space, tensors, "given", inputs, groups)
    model._Y = _codes(space, tensors, "outputs", inputs, 0)
    model._shared = _shared(space, tensors, kernel, d)
    model.history_ = _history(space, tensors, model._Y.shape)
    model.n_iter_ = len(model.history_)
    model.stop_reason_ = str(header["stop_reason"])
    model.init_ = str(header["init"])
    model._search_index = None
    share = shares(graph.distances, model.weights, graph.bandwidth)
    engine = engine_for(space)(
        space, inputs, graph, share, kernel, model._shared_start(inputs), model._seed, model.n_jobs
    )
    engine.A = np.ascontiguousarray(coefficients, dtype=engine.dtype)
    engine.learned = tensors.flags("learned", n)
    engine.square_norm = tensors.numbers("square_norm", n).astype(np.float64)
    engine.start_weight = _between("start_weight", float(header["start_weight"]), 0.0, 1.0)
    if isinstance(engine, ChainEngine):
        engine.T = np.ascontiguousarray(transitions, dtype=engine.dtype)
    model._trainer = engine
    if "features" in header:
        model.features_ = from_state(header["features"], tensors.named("features."))
    return model


def space_from_spec(spec: dict[str, Any]) -> OutputSpace:
    """The space that `OutputSpace.spec` described."""
    names = spec["names"]
    if spec["kind"] == "tree":
        space: OutputSpace = TreeLeaves(dict(spec["edges"]))
    elif spec["kind"] == "sequences":
        space = Sequences(names, spec["loss"])
    elif spec["kind"] == "labelsets":
        space = LabelSets(names, spec["loss"])
    elif spec["kind"] == "classes":
        space = Classes(names)
    else:
        raise ValueError(f"Unknown kind of output space: {spec['kind']!r}.")
    if list(space.names) != names:
        raise ValueError("The model file is damaged: the names of the outputs do not fit its tree.")
    return space


def _require_room(space: OutputSpace, size: int) -> None:
    """Refuse names of outputs that take far more memory, pair by pair, than the file holds."""
    nodes = len(space.nodes) if isinstance(space, TreeLeaves) else len(space)
    if 8 * len(space) * nodes > ROOM + 100 * size:
        raise ValueError(f"The model file is damaged: it names {len(space)} outputs, and holds little else.")


def _between(name: str, value: Any, low: Any, high: Any) -> Any:
    if not low <= value <= high:
        raise ValueError(f"The model file is damaged: {name} must lie between {low} and {high}; got {value}.")
    return value


def _positive(value: Any) -> float:
    if not np.isfinite(float(value)) or float(value) <= 0:
        raise ValueError(f"The model file is damaged: {value!r} must be a positive number.")
    return float(value)


def _kernel(spec: dict[str, Any]) -> Kernel:
    gamma = None if spec["gamma"] is None else _positive(spec["gamma"])
    scales = (_positive(spec[name]) for name in ("scale", "transitions"))
    return Kernel(gamma, bool(spec["intercept"]), *scales)


def _codes(space: OutputSpace, tensors: _Tensors, name: str, inputs: Inputs, extra: int) -> np.ndarray:
    """Codes in the layout of the space; `extra` of them beyond the outputs (groups of a tree)."""
    if isinstance(space, Sequences):
        return tensors.integers(name, -1, len(space), inputs.rows.shape[0]).astype(np.int16)
    if isinstance(space, LabelSets):
        return tensors.integers(name, -1, 2, len(inputs), len(space)).astype(np.int8)
    return tensors.integers(name, -1, len(space) + extra, len(inputs)).astype(np.int32)


def _shared(space: OutputSpace, tensors: _Tensors, kernel: Kernel, d: int) -> Shared | None:
    q = len(space)
    if "hybrid.W" in tensors:
        c = tensors.numbers("hybrid.c", None)
        shapes = {"W": (d, q), "b": (q,), "P": (len(c), d), "Q": (len(c), q), "first": (q,)}
        shapes["transitions"] = (q, q)
        parts = {name: tensors.numbers(f"hybrid.{name}", *shape) for name, shape in shapes.items()}
        return QuadraticPredictor(c=c, **parts)
    if "shared.W" not in tensors:
        return None
    p = space.embedding.shape[1] if isinstance(space, ListedSpace) else q
    T = tensors.numbers("shared.T", q, q)
    if kernel.gamma is None:
        return SharedPredictor(kernel, Weights(tensors.numbers("shared.W", d + 1, p), T))
    rows = tensors.matrix("support", d)
    support = Inputs(rows, np.arange(rows.shape[0] + 1, dtype=np.int64))
    whiten = tensors.numbers("shared.whiten", len(support), None)
    weights = Weights(tensors.numbers("shared.W", whiten.shape[1] + 1, p), T)
    return SharedPredictor(kernel, weights, support, whiten)


def _history(space: OutputSpace, tensors: _Tensors, shape: tuple[int, ...]) -> list[Iteration]:
    if "history.objective" not in tensors:
        return []
    objective = tensors.numbers("history.objective", None)
    counts = tensors.integers("history.counts", 0, 2**62, len(objective), 2)
    outputs = tensors.integers("history.outputs", -1, max(len(space), 2), len(objective), *shape)
    return [
        Iteration(t + 1, float(objective[t]), int(counts[t, 0]), int(counts[t, 1]), outputs[t])
        for t in range(len(objective))
    ]
