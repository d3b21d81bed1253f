"""Training on a Dask cluster: the result of one machine, through lost workers and lost clients."""

import logging
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config

from sslsop_core import (
    SSLSOP,
    Classes,
    Sequences,
    TreeLeaves,
    baselines,
    datasets,
    evaluation,
    hybrid_start,
    load_model,
)
from sslsop_core.cluster import current_client
from tests.problems import KINDS, TREE, make

distributed = pytest.importorskip("distributed", reason="Dask is an extra: requirements-cluster.txt")
da = pytest.importorskip("dask.array", reason="Dask is an extra: requirements-cluster.txt")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    cluster.wait_for_workers(2)
    with distributed.Client(cluster) as client:
        yield client


def blobs(n=400, d=6, q=4, labeled=0.1, seed=0):
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, q, n)
    X = rng.normal(scale=2.0, size=(q, d))[classes] + rng.normal(size=(n, d))
    return X, [int(c) if rng.random() < labeled else None for c in classes]


def assert_same_run(here, there):
    assert there.n_iter_ == here.n_iter_
    for ours, theirs in zip(here.history_, there.history_, strict=True):
        assert np.array_equal(ours.outputs, theirs.outputs)
        assert theirs.objective == pytest.approx(ours.objective, rel=1e-9)


def on_cluster(model):
    return SSLSOP(**model.get_params() | {"engine": "dask"})


@pytest.mark.parametrize(
    "init", ["guided", "spread", "global", "random", "nearest", "hybrid", "hinted", "auto"]
)
@pytest.mark.parametrize("output_step", ["exact", "paper"])
def test_a_cluster_learns_what_one_machine_learns(client, init, output_step):
    X, y = blobs()
    model = SSLSOP(init=init, latent=3, output_step=output_step, k=8, max_iter=5)
    here = model.fit(X, y)
    there = on_cluster(model).fit(X, y)
    assert there.init_ == here.init_
    assert np.array_equal(there.graph_.neighbors, here.graph_.neighbors)
    assert_same_run(here, there)
    assert np.array_equal(there.predict(X[:30] + 0.1), here.predict(X[:30] + 0.1))


def partly_labeled(kind, n=80):
    """A random problem in which some outputs are given, some in part, and most are missing."""
    rng = np.random.default_rng(0)
    twin = make(kind, rng, n=n)
    y = [
        output if i % 5 == 0 else twin.partly(rng, output) if i % 7 == 0 else None
        for i, output in enumerate(twin.truth)
    ]
    return twin, y


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("output_step", ["exact", "paper"])
def test_every_space_learns_what_it_learns_on_one_machine(client, kind, output_step):
    twin, y = partly_labeled(kind)
    model = SSLSOP(twin.space, init="guided", output_step=output_step, k=7, max_iter=4, tol=0)
    here, there = model.fit(twin.X, y), on_cluster(model).fit(twin.X, y)
    assert_same_run(here, there)
    assert list(there.predict(twin.X[:9])) == list(here.predict(twin.X[:9]))


@pytest.mark.parametrize("init", ["spread", "global", "nearest", "hybrid"])
def test_sequences_start_as_on_one_machine(client, init):
    twin, y = partly_labeled("sequences-01")
    model = SSLSOP(twin.space, init=init, k=7, max_iter=3, tol=0)
    assert_same_run(model.fit(twin.X, y), on_cluster(model).fit(twin.X, y))


def test_sparse_sequences_are_neighbors_by_weighted_sums_of_all(client):
    rng = np.random.default_rng(0)
    X = [sp.random(rng.integers(1, 6), 30, density=0.2, format="csr", random_state=i) for i in range(80)]
    y = [tuple("NV"[t] for t in rng.integers(0, 2, x.shape[0])) if i % 4 == 0 else None
         for i, x in enumerate(X)]  # fmt: skip
    model = SSLSOP(Sequences("NV"), k=6, metric="cosine", init="guided", latent=9, max_iter=3, tol=0)
    here, there = model.fit(X, y), on_cluster(model).fit(X, y)
    assert np.array_equal(there.graph_.neighbors, here.graph_.neighbors)
    assert_same_run(here, there)


def test_a_hybrid_start_draws_the_same_points_as_on_one_machine(client, monkeypatch):
    monkeypatch.setattr(hybrid_start, "MOST_POINTS", 30)
    X, y = blobs(labeled=0.2)
    model = SSLSOP(init="hybrid", k=8, max_iter=3, tol=0)
    assert_same_run(model.fit(X, y), on_cluster(model).fit(da.from_array(X, chunks=(150, 6)), y))


def test_rows_of_zeros_find_the_nearest_labelled_point_by_cosine(client):
    X, y = blobs(n=120, labeled=0.2)
    X[::17] = 0
    model = SSLSOP(init="nearest", metric="cosine", k=6, max_iter=1)
    assert_same_run(model.fit(X, y), on_cluster(model).fit(X, y))


def test_trees_sparse_rows_and_partly_given_outputs_run_too(client):
    rng = np.random.default_rng(0)
    X = sp.random(300, 40, density=0.2, format="csr", random_state=0)
    space = TreeLeaves(TREE)
    y = [space.names[i] if i < 5 else None for i in rng.integers(0, 30, 300)]
    y[7] = "animal"
    options = {"k": 6, "metric": "cosine", "kernel": "rbf", "anchor": True, "init": "guided", "max_iter": 4}
    here = SSLSOP(space, **options).fit(X, y)
    there = SSLSOP(space, engine="dask", **options).fit(X, y)
    assert_same_run(here, there)


def test_a_dask_array_is_read_by_the_workers(client):
    X, y = blobs(n=200)
    options = {"k": 6, "max_iter": 3, "init": "guided"}
    here = SSLSOP(**options).fit(X, y)
    there = SSLSOP(engine="dask", **options).fit(da.from_array(X, chunks=(70, 3)), y)
    assert_same_run(here, there)
    assert there.predict(X[:3]).tolist() == here.predict(X[:3]).tolist()


def test_a_fitted_model_comes_home_to_be_saved_explained_and_resumed(client, tmp_path):
    X, y = blobs(n=150)
    here = SSLSOP(k=6, init="guided", max_iter=6, tol=0).fit(X, y)
    there = SSLSOP(k=6, init="guided", max_iter=3, tol=0, engine="dask").fit(X, y)
    there.save(tmp_path / "model.sslsop")
    assert load_model(tmp_path / "model.sslsop").predict(X[:5]).tolist() == there.predict(X[:5]).tolist()
    assert there.explain(3).output == there.outputs_[3]
    assert_same_run(here, there.resume(3))


def test_a_look_between_turns_changes_nothing(client):
    X, y = blobs(n=120)
    options = {"k": 6, "init": "spread", "max_iter": 8, "tol": 0}
    here = SSLSOP(**options).fit(X, y)
    there = SSLSOP(**options, engine="dask")
    for turn in there.iter_fit(X, y):
        if turn.t in (1, 3):
            there.predict(X[:2])
    assert_same_run(here, there)
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X))


def test_a_dask_array_may_have_empty_chunks(client):
    X, y = blobs(n=120)
    chunks = da.from_array(X, chunks=((60, 0, 60), 6))
    options = {"k": 6, "init": "spread", "max_iter": 2}
    assert_same_run(SSLSOP(**options).fit(X, y), SSLSOP(**options, engine="dask").fit(chunks, y))


def test_a_cluster_without_workers_says_what_to_wait_for():
    X, y = blobs(n=30)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None, host="127.0.0.1") as empty,
        distributed.Client(empty),
        pytest.raises(ValueError, match="wait_for_workers"),
    ):
        SSLSOP(engine="dask").fit(X, y)


def test_outputs_given_between_turns_on_the_cluster_count(client):
    X, y = blobs(n=150)
    models = [
        SSLSOP(k=6, init="guided", max_iter=2, tol=0, engine=engine).fit(X, y)
        for engine in ("threads", "dask")
    ]
    for model in models:
        model.relabel({0: 3, 1: 3}).resume(2)
    assert_same_run(*models)
    assert models[1].outputs_[0] == 3


def some_blobs():
    return None, *blobs(n=600)


def some_sequences():
    twin, y = partly_labeled("sequences-hamming", n=150)
    return twin.space, twin.X, y


@pytest.mark.parametrize("problem", [some_blobs, some_sequences])
def test_a_killed_worker_changes_nothing_and_is_reported(cluster, client, caplog, problem):
    space, X, y = problem()
    here = SSLSOP(space, k=8, init="guided", max_iter=8, tol=0).fit(X, y)
    there = SSLSOP(space, k=8, init="guided", max_iter=8, tol=0, engine="dask")
    with caplog.at_level(logging.WARNING, logger="sslsop_core.cluster"):
        for turn in there.iter_fit(X, y):
            if turn.t == 4:
                os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)
    assert_same_run(here, there)
    assert len(there._trainer.lost_workers) == 1
    assert "computed again" in caplog.text


def test_memory_on_the_workers_does_not_grow_with_the_turns(client):
    def stored(dask_worker):
        return len(dask_worker.data)

    def at_rest():
        """What is left when the workers have let go of all that nobody needs: they do so a moment later."""
        counts = [sum(client.run(stored).values())]
        for _ in range(100):
            time.sleep(0.1)
            counts.append(sum(client.run(stored).values()))
            if counts[-3:] == counts[-1:] * 3:
                break
        return counts[-1]

    X, y = blobs()
    model = SSLSOP(k=8, init="guided", max_iter=12, tol=0, engine="dask")
    keys = {turn.t: at_rest() for turn in model.iter_fit(X, y)}
    assert max(keys[t] for t in range(8, 13)) <= max(keys[t] for t in range(2, 5)) + 4


def test_a_turn_sends_as_much_for_many_features_as_for_few(client):
    def sent(dask_worker):
        return dask_worker.transfer_outgoing_bytes_total

    traffic = []
    for d in (4, 200):
        X, y = blobs(d=d)
        total = {
            turn.t: sum(client.run(sent).values())
            for turn in SSLSOP(k=8, init="spread", max_iter=6, tol=0, engine="dask").iter_fit(X, y)
        }
        # Of the quietest turn: on a busy machine others have sent more, with work stealing off too.
        traffic.append(min(total[t + 1] - total[t] for t in range(2, 6)))
    assert traffic[1] < 1.5 * traffic[0]
    assert traffic[1] < X.nbytes / 2


def test_after_a_lost_client_outputs_remain_and_the_cluster_is_clean(cluster):
    X, y = blobs(n=150)
    first = distributed.Client(cluster)
    model = SSLSOP(k=6, init="guided", max_iter=6, tol=0, engine="dask")
    turns = model.iter_fit(X, y)
    third = [next(turns) for _ in range(3)][-1]
    first.close()
    with pytest.raises(RuntimeError, match="connection to the Dask cluster is closed"):
        next(turns)
    assert np.array_equal(model.outputs_, model.space_.decode(third.outputs))
    with distributed.Client(cluster) as second:
        assert second.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) == 0
        assert_same_run(SSLSOP(k=6, init="guided", max_iter=6, tol=0).fit(X, y), model.fit(X, y))


def test_comparisons_run_on_the_cluster_through_joblib(client):
    problem = datasets.load("blobs", n=90)
    methods = {"SSLSOP": SSLSOP(k=6, init="guided", max_iter=3), "SVM": baselines.SupervisedSSVM()}
    here = evaluation.cross_validate(methods, problem, folds=3)
    with parallel_config(backend="dask"):
        there = evaluation.cross_validate(methods, problem, folds=3, n_jobs=-1)
    assert losses(there) == losses(here)


def losses(comparison):
    return sorted((cell.method, cell.fold, cell.new["loss"], cell.error) for cell in comparison.cells)


def test_what_a_cluster_cannot_do_is_refused_with_the_way_out(client):
    X, _ = blobs(n=30)
    with pytest.raises(ValueError, match="list of"):
        SSLSOP(Sequences("ab"), engine="dask").fit(da.from_array(X, chunks=(10, 6)), [None] * 30)
    with pytest.raises(ValueError, match="at least one output"):
        SSLSOP(Classes([0, 1]), engine="dask").fit(X, [None] * 30)


def test_without_a_client_the_message_says_how_to_connect():
    with pytest.raises(ValueError, match="Connect first"):
        current_client()


def test_without_dask_the_message_says_what_to_install():
    code = (
        "import sys; sys.modules['distributed'] = None\n"
        "from sslsop_core import SSLSOP\n"
        "try: SSLSOP(engine='dask').fit([[0.0], [1.0]], ['a', 'b'])\n"
        "except ImportError as error: print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "requirements-cluster.txt" in said
