"""Full disks, folders that cannot be written, processes that are killed: nothing is lost or half there."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sslsop_core import SSLSOP, load_model
from sslsop_core.evaluation import Store

ROOT = Path(__file__).parents[1]
# No file of this process can grow beyond so many bytes: what a full disk does, without one.
FULL = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
LIMIT = "resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0})); "
START = "import sys; from sslsop_core import SSLSOP, datasets; from sslsop_core.evaluation import Store; "


def python(code: str, *args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, args)], cwd=ROOT, capture_output=True, text=True
    )


@pytest.fixture
def model() -> SSLSOP:
    return SSLSOP(k=2, max_iter=2).fit(
        [[0.0, 1.0], [0.1, 1.0], [3.0, 0.0], [3.1, 0.1]], ["a", None, "b", None]
    )


@pytest.mark.skipif(sys.platform == "win32", reason="limits of resources are those of Unix")
def test_a_full_disk_is_told_and_leaves_the_old_model(model, tmp_path):
    path = tmp_path / "m.sslsop"
    model.save(path)
    before = path.read_bytes()
    code = (
        START
        + FULL
        + LIMIT.format(500)
        + (
            "from sslsop_core import load_model; model = load_model(sys.argv[1])\n"
            "try: model.save(sys.argv[1])\nexcept ValueError as error: print(error)"
        )
    )
    found = python(code, path)
    assert "cannot (File too large). Choose another folder, or make room." in found.stdout, found.stderr
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of resources are those of Unix")
def test_a_full_disk_stops_the_store_in_words_and_the_runs_before_it_stay(tmp_path):
    code = (
        START
        + FULL
        + (
            "store, moons = Store(sys.argv[1]), datasets.load('moons', n=20)\n"
            "first = store.start('train', moons, {'k': 5}, name='before')\n"
            + LIMIT.format(70_000)
            + "\ntry:\n    for i in range(200): store.start('train', moons, {'much': 'x' * 9000})\n"
            "except ValueError as error: print(error)"
        )
    )
    found = python(code, tmp_path)
    assert "must be readable and writable" in found.stdout, found.stderr
    assert any(record.name == "before" for record in Store(tmp_path).runs())


def test_a_folder_that_cannot_be_made_is_told(model, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="folder of runs must be writable"):
        Store(tmp_path / "file" / "runs")
    with pytest.raises(ValueError, match="path must be a file that can be written"):
        model.save(tmp_path / "nowhere" / "m.sslsop")


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a signal of Unix")
def test_a_kill_at_any_moment_leaves_whole_models_and_all_that_was_finished(tmp_path):
    code = START + (
        "store, moons = Store(sys.argv[1]), datasets.load('moons', n=60)\n"
        "model = SSLSOP(k=5, max_iter=2).fit(moons.X, moons.hide(0.2))\n"
        "while True:\n"
        "    run = store.start('train', moons, {'k': 5})\n"
        "    store.keep_model(run, model)\n"
        "    store.change(run, status='finished', losses={'loss': 0.5})\n"
        "    print(run, flush=True)"
    )
    rng, told = random.Random(0), []
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            told.append(process.stdout.readline().strip())  # it is at work
            time.sleep(rng.uniform(0.02, 0.2))
            process.send_signal(signal.SIGKILL)
            told += process.stdout.read().split()
    store = Store(tmp_path)
    runs = {record.id: record for record in store.runs(limit=10_000)}
    for run in told:
        assert runs[run].status == "finished"
        assert len(store.model(run).outputs_) == 60
    for path in (tmp_path / "models").glob("*.sslsop"):
        load_model(path)  # no half file under the name of a model
    assert sum(record.status == "unfinished" for record in runs.values()) <= 3
