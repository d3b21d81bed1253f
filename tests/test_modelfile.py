"""Model files: the same predictions to the bit, and nothing but a ValueError from a bad file."""

import json
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given as draw_given
from hypothesis import settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from sslsop_core import SSLSOP, Classes, datasets, load_model
from sslsop_core.datasets.problem import take
from sslsop_core.learner import CHOICES
from sslsop_core.modelfile import VERSION, dump_model

from .problems import KINDS, make
from .test_learner import hidden


def fitted(kind, **parameters):
    rng = np.random.default_rng(0)
    twin = make(kind, rng, n=20)
    model = SSLSOP(twin.space, **({"k": 4, "max_iter": 5} | parameters))
    return model.fit(twin.X, hidden(twin, rng)), make(kind, rng, n=15).X


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"init": "global"},
        {"init": "global", "kernel": "rbf", "anchor": True},
        {"init": "hybrid", "views": [[0], [1, 2]]},
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_is_the_same_model(kind, parameters, tmp_path):
    model, fresh = fitted(kind, **parameters)
    model.save(tmp_path / "model.sslsop")
    loaded = load_model(tmp_path / "model.sslsop")
    assert list(loaded.predict(fresh)) == list(model.predict(fresh))
    if hasattr(model, "decision_function"):
        assert np.array_equal(loaded.decision_function(fresh), model.decision_function(fresh))
    assert list(loaded.outputs_) == list(model.outputs_)
    assert [turn.objective for turn in loaded.history_] == [turn.objective for turn in model.history_]
    assert all(
        np.array_equal(a.outputs, b.outputs) for a, b in zip(loaded.history_, model.history_, strict=True)
    )
    again, onward = loaded.resume(3), model.resume(3)
    assert again.n_iter_ == onward.n_iter_
    assert again.history_[-1].objective == pytest.approx(onward.history_[-1].objective)


@settings(max_examples=25, deadline=None)
@draw_given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(KINDS),
    parameters=st.fixed_dictionaries({
        "init": st.sampled_from(CHOICES["init"]),
        "output_step": st.sampled_from(["paper", "exact"]),
        "kernel": st.sampled_from(["linear", "rbf"]),
        "weights": st.sampled_from(["uniform", "heat"]),
        "intercept": st.booleans(),
        "include_self": st.booleans(),
        "own_predictor": st.booleans(),
    }),
)  # fmt: skip
def test_any_model_is_the_same_after_a_round_trip(seed, kind, parameters):
    rng = np.random.default_rng(seed)
    twin = make(kind, rng, n=15)
    model = SSLSOP(twin.space, k=4, max_iter=3, random_state=seed, **parameters)
    model.fit(twin.X, hidden(twin, rng))
    loaded, fresh = load_model(dump_model(model)), make(kind, rng, n=10).X
    assert dump_model(loaded) == dump_model(model)
    assert list(loaded.outputs_) == list(model.outputs_)
    assert list(loaded.predict(fresh)) == list(model.predict(fresh))


def test_sparse_float32_and_partly_given_models_round_trip():
    rng = np.random.default_rng(0)
    X = sp.random(40, 30, density=0.2, format="csr", random_state=0, dtype=np.float32)
    model = SSLSOP(Classes(["ü", 3]), k=5, metric="cosine").fit(X, ["ü", 3] + [None] * 38)
    loaded = load_model(dump_model(model))
    assert loaded._engine.inputs.rows.dtype == np.float32
    assert loaded.space_ == model.space_
    twin = make("sequences-01", rng)
    given = [twin.truth[0]] + [twin.partly(rng, y) for y in twin.truth[1:]]
    model = SSLSOP(twin.space, k=4).fit(twin.X, given)
    assert np.array_equal(load_model(dump_model(model))._given, model._given)


@pytest.mark.parametrize("name", ["digits", "cora", "ocr"])
def test_a_model_saved_with_its_features_predicts_from_raw_inputs(name, tmp_path):
    problem = datasets.load(name)
    rows = np.arange(0, len(problem), 10)
    train, test = rows[:-8], rows[-8:]
    features = problem.fit_features(train)
    X = features.transform(take(problem.inputs, train))
    model = SSLSOP(problem.space, k=5, max_iter=3, init="spread", metric=problem.metric)
    model.fit(X, [problem.y[i] for i in train])
    model.save(tmp_path / "raw.sslsop", features)
    loaded = load_model(tmp_path / "raw.sslsop")
    raw = take(problem.inputs, test)
    assert list(loaded.predict_inputs(raw)) == list(model.predict(features.transform(raw)))
    loaded.save(tmp_path / "again.sslsop")
    assert list(load_model(tmp_path / "again.sslsop").predict_inputs(raw)) == list(loaded.predict_inputs(raw))
    with pytest.raises(ValueError, match="without features"):
        model.predict_inputs(raw)


def test_another_process_predicts_the_same_to_the_bit(tmp_path):
    model, fresh = fitted("classes")
    model.save(tmp_path / "m.sslsop")
    np.save(tmp_path / "x.npy", fresh)
    code = (
        "import sys, numpy as np; from sslsop_core import load_model;"
        "np.save(sys.argv[3], load_model(sys.argv[1]).decision_function(np.load(sys.argv[2])))"
    )
    paths = [str(tmp_path / name) for name in ("m.sslsop", "x.npy", "out.npy")]
    subprocess.run([sys.executable, "-c", code, *paths], check=True)
    assert np.array_equal(np.load(paths[2]), model.decision_function(fresh))


def test_equal_models_are_equal_files():
    assert dump_model(fitted("tree")[0]) == dump_model(fitted("tree")[0])


def test_saving_replaces_a_file_only_when_complete(tmp_path):
    path = tmp_path / "model.sslsop"
    model, _ = fitted("classes")
    model.save(path)
    before = path.read_bytes()
    model._trainer = None  # cannot be written
    with pytest.raises(AttributeError):
        model.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def rewritten(change):
    """A model file with header and tensors changed by `change(header, tensors, everything told)`."""
    data = dump_model(fitted("classes")[0])
    length = int.from_bytes(data[:8], "little")
    told = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["sslsop"])
    tensors = load(data)
    change(told["model"], tensors, told)
    return save(tensors, {"sslsop": json.dumps(told)})


CHANGES = {
    "newer version": lambda h, t, m: m.update(version=VERSION + 1),
    "version of another kind": lambda h, t, m: m.update(version="one"),
    "neighbor out of range": lambda h, t, m: t.update(neighbors=t["neighbors"] + 100),
    "negative neighbor": lambda h, t, m: t.update(neighbors=t["neighbors"] - 5),
    "float neighbors": lambda h, t, m: t.update(neighbors=t["neighbors"].astype(float)),
    "missing tensor": lambda h, t, m: t.pop("coefficients"),
    "wrong shape": lambda h, t, m: t.update(coefficients=t["coefficients"][:-1]),
    "not finite": lambda h, t, m: t.update(coefficients=np.full_like(t["coefficients"], np.nan)),
    "output out of range": lambda h, t, m: t.update(outputs=t["outputs"] + 50),
    "decreasing starts": lambda h, t, m: t.update(starts=t["starts"][::-1].copy()),
    "unknown parameter": lambda h, t, m: h["parameters"].update(shell="rm"),
    "bad parameter": lambda h, t, m: h["parameters"].update(k=-3),
    "names twice": lambda h, t, m: h["space"].update(names=["a", "a", "b"]),
    "names not a list": lambda h, t, m: h["space"].update(names=7),
    "unknown space": lambda h, t, m: h["space"].update(kind="graphs"),
    "header a list": lambda h, t, m: m.update(model=[]),
    "negative bandwidth": lambda h, t, m: h.update(bandwidth=-1),
    "seed out of range": lambda h, t, m: h.update(seed=2**40),
    "start out of range": lambda h, t, m: h.update(start_weight=1e300),
    "half precision": lambda h, t, m: t.update(distances=t["distances"].astype(np.float16)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_file_that_does_not_hold_together_is_refused(change):
    with pytest.raises(ValueError, match=r"\w{4,}"):
        load_model(rewritten(change))


def test_a_header_that_claims_more_than_the_file_holds_is_refused_at_once():
    with pytest.raises(ValueError, match="cut short"):
        load_model((2**40).to_bytes(8, "little") + b"{}")
    with pytest.raises(ValueError, match="cut short"):
        load_model(b"")
    huge = {
        "x": {"dtype": "F64", "shape": [2**40], "data_offsets": [0, 2**43]},
        "__metadata__": {"sslsop": "{}"},
    }
    body = json.dumps(huge).encode()
    with pytest.raises(ValueError, match="damaged"):
        load_model(len(body).to_bytes(8, "little") + body)


@pytest.mark.parametrize("kind", ["classes", "tree", "sequences-01", "sets-01"])
def test_many_names_in_a_small_file_take_no_memory(kind):
    data = dump_model(fitted(kind)[0])
    length = int.from_bytes(data[:8], "little")
    told = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["sslsop"])
    names = [f"n{i}" for i in range(30_000)]
    told["model"]["space"]["names"] = names
    if kind == "tree":
        told["model"]["space"]["edges"] = [[name, "root"] for name in names]
    claiming = save(load(data), {"sslsop": json.dumps(told)})
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="damaged: it names 30000 outputs"):
            load_model(claiming)
        assert tracemalloc.get_traced_memory()[1] < 50 * len(claiming)
    finally:
        tracemalloc.stop()


def test_a_file_of_an_older_version_says_what_to_do():
    with pytest.raises(ValueError, match="save the model again"):
        load_model(rewritten(lambda h, t, m: m.update(version=VERSION - 1)))


@pytest.mark.skipif(os.name != "posix", reason="file modes are those of POSIX systems")
def test_a_saved_model_can_be_read_by_whom_other_files_can(tmp_path):
    path = tmp_path / "model.sslsop"
    fitted("classes")[0].save(path)
    (tmp_path / "other").touch()
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


MODEL_BYTES = None


@settings(max_examples=150, deadline=None)
@draw_given(st.data())
def test_damaged_bytes_load_or_raise_value_error(data):
    global MODEL_BYTES
    MODEL_BYTES = MODEL_BYTES or dump_model(fitted("sequences-01")[0])
    raw = bytearray(MODEL_BYTES)
    if data.draw(st.booleans()):
        raw = raw[: data.draw(st.integers(0, len(raw)))]
    for _ in range(data.draw(st.integers(1, 5))):
        if raw:
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        model = load_model(bytes(raw))
    except ValueError:
        return
    model.predict([np.zeros((2, 3))])
