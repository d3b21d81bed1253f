"""What does not fit into memory lies in a file that nobody has to clean up, and changes no result."""

import os
import sys
import tempfile

import numpy as np
import pytest

from sslsop_core import SSLSOP
from sslsop_core.storage import zeros
from tests.problems import KINDS, make


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [0, 1500])
def test_the_result_does_not_depend_on_the_memory_limit(kind, limit):
    twin = make(kind, np.random.default_rng(0))
    y = [output if i % 3 == 0 else None for i, output in enumerate(twin.truth)]
    free, limited = (
        SSLSOP(twin.space, k=4, max_iter=6, tol=0, memory_limit=m).fit(twin.X, y) for m in (None, limit)
    )
    assert limited._engine._on_disk
    assert np.array_equal(free._engine.S, limited._engine.S)
    assert [turn.objective for turn in free.history_] == [turn.objective for turn in limited.history_]
    assert list(free.outputs_) == list(limited.outputs_)
    assert list(free.predict(twin.X)) == list(limited.predict(twin.X))


def test_what_is_read_in_any_order_stays_in_memory_longest():
    twin = make("classes", np.random.default_rng(0))
    model = SSLSOP(twin.space, k=4, max_iter=1).fit(twin.X, twin.truth)
    scores = model._engine.S.nbytes
    for limit, on_disk in ((scores, {"A", "gram"}), (2 * scores, {"gram"}), (1e9, set())):
        model.set_params(memory_limit=limit).fit(twin.X, twin.truth)
        assert model._engine._on_disk == on_disk


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc to see what is mapped")
def test_the_file_goes_with_the_array_and_has_no_name(tmp_path, monkeypatch):
    def mapped():
        with open("/proc/self/maps") as maps:
            return sum(str(tmp_path) in line for line in maps)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    array = zeros((1000, 100), np.float32, on_disk=True)
    array[5] = 1
    assert array.sum() == 100
    assert mapped() == 1
    assert not os.listdir(tmp_path)
    del array
    assert mapped() == 0


def test_a_memory_limit_must_be_a_number():
    with pytest.raises(ValueError, match="memory_limit must be a finite number"):
        SSLSOP(memory_limit="4 GB").fit([[0.0], [1.0]], ["a", "b"])


def test_progress_names_every_phase_and_reaches_its_end():
    X = np.random.default_rng(0).normal(size=(3000, 20)).astype(np.float32)
    seen = []
    SSLSOP(init="guided", max_iter=1).fit(X, [0, 1] + [None] * 2998, progress=lambda *step: seen.append(step))
    phases = list(dict.fromkeys(phase for phase, _ in seen))
    assert phases == ["neighbors", "inner products", "first outputs"]
    for phase in ("neighbors", "inner products"):
        shares = [share for name, share in seen if name == phase]
        assert len(shares) > 3
        assert shares == sorted(shares)
        assert shares[-1] == 1
