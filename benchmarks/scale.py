"""How training grows with the number of points: seconds and memory of every phase, and of others beside it.

    python benchmarks/scale.py [--sizes 1e4 3e4 1e5] [--plot benchmarks/scale.html]
    python benchmarks/scale.py --sizes 1e4 1e5 1e6      # the last takes some ten minutes and 5 GiB
    python benchmarks/scale.py --news                   # 20 Newsgroups, from the data folder SSLSOP_DATA

Every line is measured in a process of its own, after compiling, with two threads; memory is what the fit
adds to the data at its peak. d=64, q=10, k=15, 20 iterations, float32, 5 % labelled, 10,000 new points.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import scipy.sparse as sp
from plotly.subplots import make_subplots
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.semi_supervised import LabelSpreading

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.core import literal
from sslsop_core import SSLSOP, Classes, TreeLeaves
from sslsop_core.neighbors import EXACT_UP_TO

D, Q, K, T, NEW = 64, 10, 15, 20, 10_000
LITERAL, SPREADING = (100, 300), 100_000  # where the others still run


def blobs(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    classes = rng.integers(0, Q, n)
    X = rng.standard_normal((n, D), dtype=np.float32) * 1.5
    X += rng.normal(size=(Q, D)).astype(np.float32)[classes]
    return X, np.where(rng.random(n) < 0.05, classes, -1)


def added_memory(before: int) -> float:
    """Bytes at the peak of this process beyond `before`."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before


def watch(model: SSLSOP, X, y) -> dict[str, float]:
    """Seconds of the phases of a fit, by its own reports."""
    begins: dict[str, float] = {}

    def note(phase: str, share: float) -> None:
        begins.setdefault(phase, time.perf_counter())

    ends = [time.perf_counter() for _ in model.iter_fit(X, y, progress=note)]
    turn = float(np.median(np.diff(ends)))
    edges = [*begins.values(), ends[0] - turn]
    names = {"neighbors": "search", "inner products": "gram", "first outputs": "first"}
    seconds = {names[phase]: took for phase, took in zip(begins, np.diff(edges).tolist(), strict=True)}
    return seconds | {"turn": turn, "fit": ends[-1] - edges[0], "turns": len(ends)}


def sslsop(n: int) -> dict[str, float]:
    X, y = blobs(n + NEW)
    X, y, X_new = X[:n], y[:n], X[n:]
    model = SSLSOP(Classes(range(Q)), k=K, max_iter=T, tol=0, n_jobs=2)
    small = min(n, 3000)
    compiled = SSLSOP(**model.get_params() | {"search": "approximate" if n > EXACT_UP_TO else "exact"})
    compiled.fit(X[:small], y[:small]).predict(X[:10])
    expected = model.estimate(X, y)
    before = psutil.Process().memory_info().rss
    measured = watch(model, X, y)
    memory = added_memory(before)
    begin = time.perf_counter()
    model.predict(X_new)
    return measured | {
        "predict": time.perf_counter() - begin,
        "memory": memory,
        "with_predict": added_memory(before),
        "expected": expected.seconds(T),
        "expected_memory": expected.memory,
    }


def label_spreading(n: int) -> dict[str, float]:
    X, y = blobs(n)
    before = psutil.Process().memory_info().rss
    begin = time.perf_counter()
    LabelSpreading(kernel="knn", n_neighbors=K, n_jobs=2).fit(X, y)
    return {"fit": time.perf_counter() - begin, "memory": added_memory(before)}


def literal_equations(n: int) -> dict[str, float]:
    X, y = blobs(n)
    before = psutil.Process().memory_info().rss
    begin = time.perf_counter()
    literal(X, [None if v < 0 else int(v) for v in y], K, Q, 2)
    return {"fit": (time.perf_counter() - begin) * T / 2, "memory": added_memory(before)}  # 2 of T turns


def alone(what, n: int) -> dict[str, float]:
    """The result of a measurement in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(what, n).result()


def news() -> None:
    """A fit on sparse text with a tree of classes."""
    folder = Path(os.environ["SSLSOP_DATA"]) / "extras"
    raw = np.load(folder / "newsgroups20_bow.npz", allow_pickle=False)
    counts = sp.csr_matrix((raw["data"], raw["indices"], raw["indptr"]), shape=raw["shape"])
    X = TfidfTransformer(sublinear_tf=True).fit_transform(counts.astype(np.float32))
    with open(folder / "newsgroups20_tree.csv") as file:
        tree = {row["node"]: row["parent"] for row in csv.DictReader(file) if row["parent"]}
    truth = [str(raw["class_names"][label]) for label in raw["labels"]]
    hidden = np.random.default_rng(0).random(len(truth)) < 0.9
    y = [None if h else name for h, name in zip(hidden, truth, strict=True)]
    model = SSLSOP(TreeLeaves(tree), k=K, metric="cosine", max_iter=T, tol=0, n_jobs=2)
    few = np.flatnonzero(~hidden)[:300]
    model.fit(X[few], [y[i] for i in few])  # compile
    before = psutil.Process().memory_info().rss
    took = watch(model, X, y)
    wrong = np.mean([a != b for a, b, h in zip(model.outputs_, truth, hidden, strict=True) if h])
    dense = np.prod(X.shape) * 4
    print(f"20 Newsgroups, {X.shape[0]:,} x {X.shape[1]:,}, {len(model.space_)} leaves, 10 % labelled:")
    print(f"    exact search {took['search']:.1f} s, then {took['fit'] - took['search']:.1f} s for the fit:")
    print(
        f"    first outputs {took['first']:.1f} s, inner products {took['gram']:.1f} s, {T} iterations",
        end=" ",
    )
    print(f"of {took['turn']:.2f} s; {wrong:.3f} of the hidden outputs wrong (0-1)")
    print(f"    memory {added_memory(before) / 2**20:,.0f} MiB; a dense X takes {dense / 2**20:,.0f} MiB")


def main(sizes: list[int], plot: Path) -> None:
    print(
        f"{'n':>9} {'search':>8} {'first':>7} {'inner':>7} {'turn':>8} {'fit':>8} {'GiB':>6}"
        f" {'expected fit':>12} {'GiB':>6} {'predict':>8} {'GiB':>6} {'LabelSpreading':>15} {'GiB':>6}"
        "   (seconds; peak memory)"
    )
    ours, spreading = {}, {}
    for n in sizes:
        ours[n] = alone(sslsop, n)
        times = zip(("search", "first", "gram", "turn", "fit"), (8, 7, 7, 8, 8), strict=True)
        line = "".join(f"{ours[n][name]:>{width}.{2 + (name == 'turn')}f} " for name, width in times)
        line += f"{ours[n]['memory'] / 2**30:>6.2f} {ours[n]['expected']:>12.2f} "
        line += f"{ours[n]['expected_memory'] / 2**30:>6.2f} {ours[n]['predict']:>8.2f} "
        line += f"{ours[n]['with_predict'] / 2**30:>6.2f} "
        if n <= SPREADING:
            spreading[n] = alone(label_spreading, n)
            line += f"{spreading[n]['fit']:>15.2f} {spreading[n]['memory'] / 2**30:>6.2f}"
        print(f"{n:>9,} {line}", flush=True)
    last = ours[sizes[-1]]
    shares = {name: last[name] / last["fit"] for name in ("search", "first", "gram")}
    shares["turns"] = last["turn"] * last["turns"] / last["fit"]
    print(f"shares at n={sizes[-1]:,}: " + ", ".join(f"{name} {share:.0%}" for name, share in shares.items()))
    exponent = (
        np.polyfit(np.log(sizes), np.log([ours[n]["turn"] for n in sizes]), 1)[0]
        if len(sizes) > 1
        else np.nan
    )
    print(f"time per iteration grows as n^{exponent:.2f}   target <= 1.1")
    letter = {n: alone(literal_equations, n) for n in LITERAL}
    for n, took in letter.items():
        print(f"literal equations, n={n}: {took['fit']:.1f} s for {T} iterations (2 run)")
    draw({"SSLSOP": ours, "LabelSpreading(knn)": spreading, "the equations, literally": letter}, plot)


def draw(curves: dict[str, dict[int, dict[str, float]]], path: Path) -> None:
    figure = make_subplots(1, 2, subplot_titles=("whole fit, seconds", "memory added, GiB"))
    for color, (name, points) in zip(("#0b6e99", "#d9730d", "#777777"), curves.items(), strict=True):
        style = {"name": name, "line": {"color": color}, "legendgroup": name}
        sizes = list(points)
        figure.add_scatter(x=sizes, y=[points[n]["fit"] for n in sizes], row=1, col=1, **style)
        memory = [max(points[n]["memory"], 2**20) / 2**30 for n in sizes]
        figure.add_scatter(x=sizes, y=memory, row=1, col=2, showlegend=False, **style)
    figure.update_xaxes(type="log", title="points")
    figure.update_yaxes(type="log")
    figure.write_html(path)
    print(f"plot: {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sizes", type=lambda text: int(float(text)), nargs="+", default=[10_000, 30_000, 100_000]
    )
    parser.add_argument("--plot", type=Path, default=Path("benchmarks/scale.html"))
    parser.add_argument("--news", action="store_true")
    arguments = parser.parse_args()
    if arguments.news:
        news()
    else:
        main(arguments.sizes, arguments.plot)
