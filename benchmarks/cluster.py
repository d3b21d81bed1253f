"""What a turn on a Dask cluster sends and takes, and what that means for many more points.

    python benchmarks/cluster.py [--points 20000] [--workers 2]

Starts workers on this machine, trains, and reads the bytes that the workers say they sent. The projection is
arithmetic from the rates measured here, no run.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster

sys.path.insert(0, str(Path(__file__).parents[1]))

from sslsop_core import SSLSOP, Classes

Q, TURNS, WARM = 10, 8, 2  # classes; turns per run, and how many of them are not counted


def sent(client: Client) -> int:
    """Bytes that the workers have sent to each other and to the client so far."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def stored(client: Client) -> int:
    """Bytes of results that the fullest worker holds."""
    return max(client.run(lambda dask_worker: dask_worker.state.nbytes).values())


def run(client: Client, n: int, d: int, k: int) -> dict[str, float]:
    """Bytes and seconds per turn of one training."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, Q, n)
    X = (rng.normal(size=(Q, d))[classes] + 1.5 * rng.normal(size=(n, d))).astype(np.float32)
    y = np.where(rng.random(n) < 0.05, classes, -1)
    model = SSLSOP(Classes(list(range(Q))), k=k, init="guided", max_iter=TURNS, tol=0, engine="dask")
    begin, bytes_sent, seconds, most = time.perf_counter(), [], [], 0
    for _ in model.iter_fit(X, y):
        bytes_sent.append(sent(client))
        seconds.append(time.perf_counter() - begin)
        most = max(most, stored(client))
    turns = TURNS - WARM
    return {
        "bytes": (bytes_sent[-1] - bytes_sent[WARM - 1]) / turns,
        "seconds": (seconds[-1] - seconds[WARM - 1]) / turns,
        "start": seconds[0],
        "stored": most,
    }


def project(rate: float, workers: int, k: int, network: float, n: float = 1e8, blocks: int = 64) -> None:
    """One turn for n points in random order on as many workers as blocks, one thread each."""
    reach = blocks * (1 - (1 - 1 / blocks) ** k)  # blocks that have a say on a point
    traffic = n * reach * (8 * Q + 5) * (1 - 1 / blocks) / blocks
    compute = n / blocks * rate
    turn = compute + traffic / network
    state = n / blocks * 4 * (k * k + 4 * k * Q)
    print(
        f"\nprojection, arithmetic and no run: {n:.0e} points, k={k}, q={Q}, {blocks} workers of one thread"
    )
    print(
        f"    work: {rate * 1e6:.1f} us per point and turn, measured on {workers} workers -> {compute:.1f} s"
    )
    print(
        f"    traffic: a point has votes from {reach:.1f} blocks -> {traffic / 1e9:.1f} GB a worker,", end=" "
    )
    print(f"{traffic / network:.1f} s at {network * 8 / 1e9:.0f} Gbit/s")
    print(f"    a turn: {turn:.0f} s; 20 turns: {20 * turn / 60:.0f} min, after the search for neighbors")
    print(f"    memory: {state / 1e9:.1f} GB of inner products and two states a worker")


def main(n: int, workers: int) -> None:
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        run(client, 2000, 16, 8)  # compile
        print(f"n={n:,}, q={Q}, {workers} workers with one block each")
        print(f"{'d':>5} {'k':>4} {'bytes a turn':>14} {'per n q':>8} {'s a turn':>9} {'MB a worker':>12}")
        for d, k in ((16, 8), (256, 8), (16, 32), (64, 15)):
            measured = run(client, n, d, k)
            print(
                f"{d:>5} {k:>4} {measured['bytes']:>14,.0f} {measured['bytes'] / (n * Q):>8.1f} "
                f"{measured['seconds']:>9.3f} {measured['stored'] / 1e6:>12.0f}",
                flush=True,
            )
        project(measured["seconds"] * workers / n, workers, 15, network=1.25e9)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    main(arguments.points, arguments.workers)
