"""How fast the core is: ratios measured inside one run, so that a noisy machine does not matter much.

    python benchmarks/core.py [--plot benchmarks/core.html]

Prints a table: what was compared, both times, their ratio, the target. The plot shows time per iteration
against the number of points.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from joblib import Parallel, delayed
from sklearn.datasets import make_blobs
from sklearn.semi_supervised import LabelSpreading

sys.path.insert(0, str(Path(__file__).parents[1]))

from sslsop_core import SSLSOP, Classes
from sslsop_core.engine import ListedEngine
from sslsop_core.inputs import single_rows
from sslsop_core.kernels import Kernel
from sslsop_core.neighbors import Graph, shares
from sslsop_core.parallel import shared_threads
from tests import reference


def best_of(run, times=3):
    """The shortest of some runs, in seconds."""
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def data(n, d, q, labeled=0.3, dtype=np.float64):
    X, y = make_blobs(n, d, centers=q, cluster_std=4.0, random_state=0)
    rng = np.random.default_rng(0)
    return X.astype(dtype), [int(v) if rng.random() < labeled else None for v in y]


def engine(n, k, q, d=16, n_jobs=1, dtype=np.float32):
    """An engine on random neighborhoods of random points, all outputs known: the local steps alone."""
    rng = np.random.default_rng(0)
    inputs = single_rows(rng.normal(size=(n, d)).astype(dtype) / np.sqrt(d))
    # Neighbors lie near in memory, as they do when similar points are stored together.
    neighbors = (np.arange(n)[:, None] + np.arange(k)) % n
    graph = Graph(neighbors.astype(np.int32), np.zeros((n, k)), 1.0)
    share = shares(graph.distances, "uniform", 1.0)
    built = ListedEngine(Classes(range(q)), inputs, graph, share, Kernel(None, False), None, 0, n_jobs)
    return built, rng.integers(0, q, n).astype(np.int32)


def one_iteration(built, Y, given, exact=True):
    def run():
        with shared_threads(built.n_jobs):
            built.update_predictors(Y, 0.5, 0.01)
            built.update_outputs(Y, given, exact)
            built.upper_bounds(Y)

    built.upper_bounds(Y)
    run()  # compile, build the Gram blocks
    return run


def literal(X, y, k, q, T, C=0.01, eta=0.5):
    """Algorithm 1 with the literal equations, from the nearest labelled point's outputs."""
    neighbors = SSLSOP(k=k, max_iter=1).fit(X, y).graph_.neighbors
    phi, outputs, share = reference.class_phi(list(range(q))), list(range(q)), np.full((len(X), k), 1 / k)
    Y, W = [0 if v is None else v for v in y], np.zeros((len(X), X.shape[1] * q))
    for _ in range(T):
        z = [
            [reference.z_star(phi, reference.zero_one, outputs, W[i], X[j], Y[j]) for j in row]
            for i, row in enumerate(neighbors)
        ]
        W = np.array(
            [reference.w_next(phi, W[i], X, Y, z[i], neighbors[i], share[i], C, eta) for i in range(len(X))]
        )
        voters = {i: [] for i in range(len(X))}
        for i, row in enumerate(neighbors):
            for r, j in enumerate(row):
                voters[j].append((i, r))
        Y = [
            v if v is not None else
            reference.output_paper(phi, reference.zero_one, outputs, W, X[i], voters[i], z, share)
            for i, v in enumerate(y)
        ]  # fmt: skip
    return Y


def primal_iteration(X, neighbors, Y, q):
    """A batched form with explicit W (n, d, q): matrix products over gathered neighborhoods."""
    n, k = neighbors.shape
    W = np.zeros((n, X.shape[1], q), dtype=X.dtype)
    rows = np.arange(n)[:, None], np.arange(k)[None, :]
    identity = np.eye(q, dtype=X.dtype)

    def run(block=64):
        total = np.zeros((n, q), dtype=X.dtype)
        for lo in range(0, n, block):
            part = slice(lo, lo + block)
            gathered, y = X[neighbors[part]], Y[neighbors[part]]
            scores = gathered @ W[part]
            augmented = scores + 1
            augmented[rows[0][: len(y)], rows[1], y] -= 1
            z = augmented.argmax(axis=2)
            W[part] *= 1 - 0.5 * 0.01
            W[part] += 0.5 / k * gathered.transpose(0, 2, 1) @ (identity[y] - identity[z])
            np.add.at(total, neighbors[part].ravel(), (identity[z] + gathered @ W[part]).reshape(-1, q))
        return total.argmax(axis=1)

    return run


def bytes_per_iteration(built):
    """What the three passes read and write at least once: scores, coefficients, Gram blocks, z."""
    scores = built.S.nbytes
    return scores * (2 + 1 + 1) + built.A.nbytes * 2 + built.gram[0].nbytes + built.Z.nbytes * 2


def main(plot: Path):
    def report(what, slow, fast, target):
        ratio = slow / fast
        print(f"{what:<76} {slow:>9.4f} s {fast:>9.4f} s   ratio {ratio:>8.2f}   target {target}", flush=True)

    X, y = data(500, 64, 10)
    model = SSLSOP(k=10, max_iter=5, tol=0, init="nearest", output_step="paper", scale=1.0)
    model.fit(X, y)
    report(
        "literal equations / fit, n=500 d=64 k=10 q=10 T=5",
        best_of(lambda: literal(X, y, 10, 10, 5), 1), best_of(lambda: model.fit(X, y)), ">= 300",
    )  # fmt: skip

    n, d, k, q = 2700, 1764, 100, 15
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32) / np.sqrt(d)
    built, Y = engine(n, k, q, d=d)
    free = np.full(n, -1, dtype=np.int32)
    primal = primal_iteration(X, built.graph.neighbors, Y, q)
    report(
        f"batched primal / fused, one iteration, n={n} d={d} k={k} q={q}",
        best_of(primal, 1), best_of(one_iteration(built, Y, free, exact=False)), ">= 10",
    )  # fmt: skip

    n = 100_000
    built, Y = engine(n, 20, 10)
    free = np.full(n, -1, dtype=np.int32)
    run = one_iteration(built, Y, free)
    one = two = np.inf
    for _ in range(5):  # in turn: the second core is not free all the time on every machine
        built.n_jobs = 1
        one = min(one, best_of(run, 2))
        built.n_jobs = 2
        two = min(two, best_of(run, 2))
    report("n_jobs=1 / n_jobs=2, one iteration, n=100,000 k=20 q=10", one, two, ">= 1.6")
    nothing = [delayed(len)(())] * 8
    with Parallel(2, backend="threading") as pool:
        polled = best_of(lambda: pool(nothing), 20)
    with shared_threads(2) as pool:
        waited = best_of(lambda: pool(nothing), 20)
    report("joblib's threads, polled / waited for, a pass that does nothing", polled, waited, "")
    moved = bytes_per_iteration(built)
    source = np.ones(moved // 2 // 4, dtype=np.float32)  # zeros would all be one page, never read from memory
    target = np.zeros_like(source)
    copy = best_of(lambda: np.copyto(target, source), 5)
    report("one iteration (2 jobs) / plain copy of the same bytes", two, copy, "near 1 is the memory limit")
    print(f"    {moved / two / 1e9:.1f} GB a second in the iteration, {moved / copy / 1e9:.1f} in the copy")

    sizes, seconds = [1000, 3000, 10_000, 30_000, 100_000], []
    for n in sizes:
        built, Y = engine(n, 20, 10)
        seconds.append(best_of(one_iteration(built, Y, np.full(n, -1, dtype=np.int32)), 5))
        print(f"    n={n:>7}: {seconds[-1] * 1e3:8.2f} ms an iteration")
    exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    print(f"time per iteration grows as n^{exponent:.2f}   target <= 1.1")

    X, y = data(20_000, 64, 10, labeled=0.1, dtype=np.float32)
    codes = np.array([-1 if v is None else v for v in y])
    spreading = LabelSpreading(kernel="knn", n_neighbors=10, n_jobs=2)
    theirs = best_of(lambda: spreading.fit(X, codes), 2)
    for init in ("guided", "spread"):
        model = SSLSOP(k=10, init=init, max_iter=20, n_jobs=2)
        model.fit(X[:500], y[:500])
        what = f"LabelSpreading(knn) / SSLSOP(init={init!r}), whole fit, n=20,000 d=64"
        report(what, theirs, best_of(lambda model=model: model.fit(X, y), 2), ">= 1")

    figure = go.Figure(go.Scatter(x=sizes, y=seconds, mode="lines+markers"))
    figure.update_layout(
        title=f"Time per iteration, k=20, q=10, one thread: n^{exponent:.2f}",
        xaxis={"type": "log", "title": "points"},
        yaxis={"type": "log", "title": "seconds"},
    )
    figure.write_html(plot)
    print(f"plot: {plot}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plot", type=Path, default=Path("benchmarks/core.html"))
    main(parser.parse_args().plot)
