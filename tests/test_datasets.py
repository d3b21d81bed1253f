"""Embedded sets and generators: there at once, with the counts they claim, and learnable."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from sslsop_core import SSLSOP, Classes, LabelSets, Sequences, datasets, evaluation
from sslsop_core.datasets import Problem, embedded

EMBEDDED = [record for record in datasets.available() if record.embedded]
GENERATORS = [record for record in EMBEDDED if "seed" in record.knobs]


@pytest.mark.parametrize("record", EMBEDDED, ids=lambda record: record.name)
def test_an_embedded_set_is_what_its_record_says(record):
    start = time.perf_counter()
    problem = datasets.load(record.name)
    assert time.perf_counter() - start < 1.0
    assert (problem.kind, len(problem), problem.d, len(problem.space)) == (
        record.kind, record.n, record.d, record.outputs,
    )  # fmt: skip
    assert problem.name == record.name
    assert problem.description
    assert problem.source == record.source
    assert problem.licence == record.licence
    assert None not in problem.y
    starts = np.cumsum([0, *(len(y) for y in problem.y)]) if problem.kind == "sequences" else None
    problem.space.encode(problem.y, starts)  # every output is one of the space


@pytest.mark.parametrize("record", EMBEDDED, ids=lambda record: record.name)
def test_the_map_of_an_embedded_set_keeps_neighbors_together(record):
    problem = datasets.load(record.name)
    assert problem.layout.shape == (len(problem), 2)
    assert problem.layout.dtype == np.float32
    assert np.isfinite(problem.layout).all()
    X = problem.X
    if problem.kind == "sequences":
        X = np.stack([x.sum(axis=0) for x in X])
    near = NearestNeighbors(n_neighbors=2, metric=problem.metric).fit(X).kneighbors(X)[1][:, 1]
    to_near = np.linalg.norm(problem.layout - problem.layout[near], axis=1)
    other = np.random.default_rng(0).permutation(len(problem))
    to_any = np.linalg.norm(problem.layout - problem.layout[other], axis=1)
    assert np.median(to_near) < 0.25 * np.median(to_any)


def test_other_knobs_have_no_map_and_the_default_ones_do():
    assert datasets.load("moons", noise=0.3).layout is None
    assert datasets.load("moons", noise=0.1).layout is not None


def test_the_four_kinds_are_all_embedded():
    assert {record.kind for record in EMBEDDED} == {"classes", "tree", "sequences", "labelsets"}


def test_records_tell_all_and_need_no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("SSLSOP_DATA", str(tmp_path / "nowhere"))
    for record in datasets.available():
        assert record.n > 0
        assert record.d > 0
        assert record.outputs > 1
        assert record.source
        assert record.licence
        assert record.description.endswith((".", "?"))
    assert {record.name for record in datasets.available() if not record.embedded} == {
        "mias", "sun15", "cora_linqs", "cora_ml", "conll2002",
    }  # fmt: skip


def test_loading_does_not_import_heavy_packages():
    code = (
        "import sys; from sslsop_core import datasets; datasets.available(); datasets.load('digits'); "
        "print(sorted({'streamlit', 'umap', 'skimage', 'pooch', 'PIL'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_published_counts_of_cora():
    problem = datasets.load("cora", self_link=False)
    words, links = problem.inputs[:, :1433], problem.inputs[:, 1433:]
    assert (words.nnz, links.nnz) == (49_216, 5429)
    counts = {name: problem.y.count(name) for name in problem.space.names}
    assert counts == {
        "Neural_Networks": 818, "Probabilistic_Methods": 426, "Genetic_Algorithms": 418, "Theory": 351,
        "Case_Based": 298, "Reinforcement_Learning": 217, "Rule_Learning": 180,
    }  # fmt: skip
    assert len(datasets.load("cora", linked_only=True)) == 2222


def test_a_paper_that_cites_itself_is_nearer_to_those_that_cite_it():
    plain, selfish = datasets.load("cora", self_link=False), datasets.load("cora")
    citing, cited = plain.inputs[:, 1433:].nonzero()
    near = [np.asarray(p.X[citing].multiply(p.X[cited]).sum(axis=1)).mean() for p in (plain, selfish)]
    assert near[1] > near[0] + 0.05


def test_ocr_words_are_letters_with_images():
    problem = datasets.load("ocr")
    assert sum(map(len, problem.y)) == 4617
    assert "".join(problem.y[0]) == "ommanding"
    assert problem.inputs[0].shape == (9, 16, 8)
    assert all(len(x) == len(y) for x, y in zip(problem.X, problem.y, strict=True))


def test_the_digit_tree_joins_digits_that_look_alike():
    space = datasets.load("digits_tree").space
    assert space.names == tuple("0123456789")
    assert space.loss("3", "9") < space.loss("3", "0")


@pytest.mark.parametrize(
    ("name", "error"), [("digits", 0.05), ("moons", 0.03), ("spirals", 0.1), ("cora", 0.25)]
)
def test_neighbors_predict_the_classes(name, error):
    problem = datasets.load(name)
    neighbors = KNeighborsClassifier(10, metric=problem.metric, weights="distance", algorithm="brute")
    assert (cross_val_predict(neighbors, problem.X, problem.y, cv=5) != np.array(problem.y)).mean() < error


@pytest.mark.parametrize("record", GENERATORS, ids=lambda record: record.name)
def test_a_generator_gives_the_same_for_the_same_seed_only(record):
    def first(seed):
        X = record.loader(n=30, seed=seed).X
        return np.concatenate(X) if isinstance(X, list) else X

    assert np.array_equal(first(1), first(1))
    assert not np.array_equal(first(1), first(2))


@pytest.mark.parametrize("record", GENERATORS, ids=lambda record: record.name)
def test_knobs_out_of_range_are_refused(record):
    for knob in set(record.knobs) - {"seed"}:
        for value in (-1, 10**9, "many", None, True):
            with pytest.raises(ValueError, match=f"{knob} must be"):
                datasets.load(record.name, **{knob: value})


@settings(max_examples=20, deadline=None)
@given(
    n=st.integers(4, 40), length=st.integers(1, 8), vary=st.integers(0, 7), tags=st.integers(2, 5),
    sticky=st.floats(0, 1),
)  # fmt: skip
def test_hmm_lengths_stay_within_the_knobs(n, length, vary, tags, sticky):
    vary = min(vary, length - 1)
    problem = datasets.load("hmm", n=n, length=length, vary=vary, tags=tags, sticky=sticky)
    assert len(problem) == n
    assert all(length - vary <= len(y) <= length + vary for y in problem.y)
    assert set().union(*problem.y) <= set(problem.space.names)


def test_overlap_makes_blobs_harder():
    def error(overlap):
        problem = datasets.load("blobs", overlap=overlap)
        found = cross_val_predict(KNeighborsClassifier(10), problem.X, problem.y, cv=5)
        return (found != np.array(problem.y)).mean()

    assert error(0.5) < error(3.0) - 0.1


def test_siblings_of_the_gaussian_tree_lie_together():
    problem = datasets.load("gaussian_tree", depth=2, branching=3, overlap=0.0)
    centres = dict(zip(problem.y, problem.X, strict=True))
    leaves = problem.space.names
    pairs = [(a, b) for a in leaves for b in leaves if a < b]
    losses = np.array([problem.space.loss(a, b) for a, b in pairs])
    distances = np.array([np.linalg.norm(centres[a] - centres[b]) for a, b in pairs])
    assert distances[losses == 1].mean() < distances[losses == 2].mean()


def test_an_unknown_name_or_knob_names_those_that_exist():
    with pytest.raises(ValueError, match="name must be one of digits"):
        datasets.load("didgits")
    with pytest.raises(ValueError, match=r"knobs of 'moons' are: n, noise, seed; got noize"):
        datasets.load("moons", noize=1)


def test_a_problem_of_uneven_parts_is_refused():
    with pytest.raises(ValueError, match="y must have an entry per row of X, 3; got 2"):
        Problem("odd", ["a", "b"], Classes("ab"), np.ones((3, 1)))


def test_a_problem_without_inputs_has_no_features_to_fit():
    with pytest.raises(ValueError, match="no raw inputs"):
        _ = datasets.load("moons").fitted


def test_assets_are_small():
    assert sum(path.stat().st_size for path in embedded.ASSETS.rglob("*") if path.is_file()) < 1_500_000


def test_own_data_may_be_written_as_fit_takes_them():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(12, 3)), columns=list("uvw"))
    classes = ["a", "b", np.nan, -1, None, pd.NA] * 2
    problem = datasets.Problem("own", classes, Classes("ab"), frame)
    assert problem.y == ["a", "b", None, None, None, None] * 2
    assert isinstance(problem.X, np.ndarray)
    sets = [{"red"}, set(), [1, None], None] * 3
    problem = datasets.Problem("sets", sets, LabelSets(["red", "round"]), frame)
    assert problem.y[:4] == [(1, 0), (0, 0), (1, None), None]
    assert sum(y is not None for y in problem.hide(0.5)) > 0
    tagged = [["N", "V"], ("V", None), None] * 4
    problem = datasets.Problem("tags", tagged, Sequences("NV"), [np.ones((2, 3))] * 12)
    assert problem.y[:3] == [("N", "V"), ("V", None), None]
    method = SSLSOP(k=2, init="spread", max_iter=1)
    assert not any(cell.error for cell in evaluation.cross_validate([method], problem, folds=2).cells)
