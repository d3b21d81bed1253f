"""Background runs: they go, pause, step, stop, are extended, relabelled, undone, found again and reaped."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from sslsop_core import SSLSOP, datasets
from sslsop_ui.background import FORGOTTEN_AFTER, MOST_JOBS, NICE, Registry
from sslsop_ui.maps import Maps
from sslsop_ui.run_map import map_of
from sslsop_ui.runs import Run
from sslsop_ui.settings import Settings

SETTINGS = Settings(data="blobs", k=6, max_iter=12)
PROBLEM = datasets.load("blobs", n=90, overlap=2.0)
GIVEN = PROBLEM.hide(labeled=0.1)


def make(**changes) -> Run:
    return Run(PROBLEM, GIVEN, replace(SETTINGS, **changes))


def enter(registry: Registry[Run]) -> Run:
    return registry.add(Run(PROBLEM, GIVEN, SETTINGS, registry.slots))


def trained(**changes) -> Run:
    run = make(**changes)
    run.go()
    run.wait(30)
    return run


class Slow:
    """Makes every turn of a run wait until it is let through."""

    def __init__(self, run: Run):
        self.gate = threading.Semaphore(0)
        generator = run._generator

        def turns():
            for turn in generator:
                self.gate.acquire(timeout=10)
                yield turn

        run._generator = turns()


def until(condition, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def test_runs_know_nothing_of_the_page():
    code = "import sys, sslsop_ui.runs; sys.exit('streamlit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_run_ends_with_the_outputs_of_fit():
    run = trained()
    model = SSLSOP(PROBLEM.space, **SETTINGS.parameters(PROBLEM.metric)).fit(PROBLEM.X, GIVEN)
    assert run.status == "finished"
    assert run.n_iter == model.n_iter_
    np.testing.assert_array_equal(run.model.outputs_, model.outputs_)
    assert run.turns[-1].loss is not None


def test_pause_ends_within_one_turn_and_go_resumes_to_the_same_outputs():
    run = make()
    slow = Slow(run)
    run.go()
    slow.gate.release(2)
    until(lambda: run.n_iter == 2)
    run.pause()
    slow.gate.release(1)
    run.wait(10)
    assert (run.status, run.n_iter) == ("paused", 3)
    slow.gate.release(100)
    run.go()
    run.wait(10)
    np.testing.assert_array_equal(run.model.outputs_, trained().model.outputs_)


def test_a_run_that_is_paused_before_its_first_turn_can_be_resumed():
    registry = Registry(at_once=1)
    first, second = (enter(registry) for _ in range(2))
    slow = Slow(first)
    first.go()
    until(lambda: first.status == "preparing")
    second.go()
    second.pause()
    second.wait(10)
    assert (second.status, second.n_iter) == ("paused", 0)
    slow.gate.release(100)
    second.step()
    second.wait(10)
    assert (second.status, second.n_iter) == ("paused", 1)
    second.go()
    second.wait(10)
    np.testing.assert_array_equal(second.model.outputs_, trained().model.outputs_)


def test_stop_ends_within_one_turn_and_does_not_wait_for_it():
    run = make()
    slow = Slow(run)
    run.go()
    slow.gate.release(1)
    until(lambda: run.n_iter == 1)
    began = time.monotonic()
    run.stop()
    assert time.monotonic() - began < 0.1
    slow.gate.release(1)
    run.wait(10)
    assert (run.status, run.n_iter) == ("stopped", 2)


def test_a_paused_run_can_be_stopped():
    run = make()
    run.step()
    run.wait(10)
    assert run.status == "paused"
    run.stop()
    assert run.status == "stopped"


def test_steps_and_more_turns_are_the_same_as_one_longer_run():
    run = make(max_iter=3)
    run.step()
    run.wait(10)
    assert (run.status, run.n_iter) == ("paused", 1)
    run.go()
    run.wait(10)
    assert (run.status, run.n_iter) == ("finished", 3)
    run.more(4)
    run.wait(10)
    assert run.n_iter == 7
    np.testing.assert_array_equal(run.model.outputs_, trained(max_iter=7).model.outputs_)


def test_a_settled_run_has_nothing_more_to_do():
    run = make(max_iter=300)
    run.model.tol = 1.0
    run.go()
    run.wait(30)
    assert run.settled
    turns = run.n_iter
    run.more(10)
    run.wait(10)
    assert run.n_iter == turns


def test_errors_of_the_core_are_kept_as_written():
    run = trained(eta=50.0, C=0.1)
    assert run.status == "failed"
    assert run.error.startswith("eta * C must be at most 1")


def test_labels_given_by_hand_stay_and_are_undone():
    run = trained()
    i = next(i for i, output in enumerate(GIVEN) if output is None)
    before = run.model.outputs_[i]
    other = next(name for name in PROBLEM.space.names if name != before)
    run.relabel({i: other})
    assert run.model.outputs_[i] == other
    run.more(5)
    run.wait(10)
    assert run.model.outputs_[i] == other
    run.undo()
    assert (run.given[i], run.model.outputs_[i]) == (None, before)
    assert run.edits == []


def test_labels_wait_for_a_pause():
    run = make()
    with pytest.raises(ValueError, match="pause the run first"):
        run.relabel({0: PROBLEM.space.names[0]})


def test_the_registry_finds_runs_by_unguessable_names_only():
    registry = Registry()
    run = enter(registry)
    assert registry.get(run.id) is run
    assert registry.get(None) is registry.get("guess") is None
    assert len(run.id) >= 12


def test_runs_wait_for_a_free_slot_and_can_leave_the_queue():
    registry = Registry(at_once=1)
    first, second = (enter(registry) for _ in range(2))
    slow = Slow(first)
    first.go()
    until(lambda: first.status == "preparing")
    second.go()
    until(lambda: registry.waiting() == 1)
    second.stop()
    second.wait(10)
    assert second.status == "stopped"
    slow.gate.release(100)
    first.wait(10)
    second.go()
    second.wait(10)
    assert second.status == "finished"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no priority of its own")
def test_work_lets_pages_go_first():
    class Told(Run):
        def _work(self, *args):
            self.nice = os.getpriority(os.PRIO_PROCESS, 0)
            with ThreadPoolExecutor(1) as pool:
                self.helper = pool.submit(os.getpriority, os.PRIO_PROCESS, 0).result()
            return super()._work(*args)

    run, before = Told(PROBLEM, GIVEN, SETTINGS), os.getpriority(os.PRIO_PROCESS, 0)
    run.go()
    run.wait(60)
    assert run.nice == run.helper == max(NICE, before)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_orphans_are_stopped_and_old_runs_forgotten():
    registry = Registry()
    run = enter(registry)
    slow = Slow(run)
    run.go()
    slow.gate.release(1)
    until(lambda: run.n_iter == 1)
    registry.reap(run.seen + Run.patience - 1)
    assert not run._halt.is_set()
    registry.reap(run.seen + Run.patience + 1)
    slow.gate.release(100)
    run.wait(10)
    assert run.status == "paused"
    registry.reap(run.seen + FORGOTTEN_AFTER + 1)
    assert registry.get(run.id) is None


def test_a_forgotten_run_is_gone_with_its_map():
    registry, maps = Registry(), Maps()
    run = enter(registry)
    run.go()
    run.wait(60)
    map_of(run, maps).geometry()
    trace = weakref.ref(run)
    registry.reap(run.seen + FORGOTTEN_AFTER + 1)
    del run
    gc.collect()
    assert trace() is None


def test_a_run_that_its_visitor_left_is_kept_for_a_minute():
    registry = Registry()
    run = enter(registry)
    run.left = True
    registry.reap(run.seen + Run.patience - 1)
    assert registry.get(run.id) is run
    registry.reap(run.seen + Run.patience + 1)
    assert registry.get(run.id) is None


def test_names_of_runs_cannot_be_guessed():
    names = {enter(Registry()).id for _ in range(50)}
    assert len(names) == 50
    assert min(map(len, names)) >= 12  # 72 random bits
    assert Registry().get(names.pop()) is None


def test_only_so_many_runs_are_kept():
    registry = Registry()
    first = enter(registry)
    for _ in range(MOST_JOBS):
        enter(registry)
    assert registry.get(first.id) is None


def test_the_keeper_is_told_before_the_work_begins_and_how_it_ends():
    told: list[tuple[str, int]] = []
    run = Run(PROBLEM, GIVEN, SETTINGS, keep=lambda run, status: told.append((status, run.n_iter)))
    run.step()
    run.wait(30)
    run.go()
    run.wait(30)
    assert told[:2] == [("running", 0), ("paused", 1)]
    assert told[2:] == [("running", 1), ("finished", run.n_iter)]


def test_the_keeper_is_told_of_a_run_that_fails():
    told: list[str] = []
    run = Run(PROBLEM, GIVEN, replace(SETTINGS, k=0), keep=lambda run, status: told.append(status))
    run.go()
    run.wait(30)
    assert run.status == "failed"
    assert told == ["running", "failed"]
