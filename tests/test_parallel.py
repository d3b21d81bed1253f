"""Work that cannot say how far it is, told by the clock."""

import time

import pytest

from sslsop_core.parallel import by_the_clock


@pytest.mark.parametrize("expected", [0.1, 1.0, 100.0])
def test_shares_by_the_clock_grow_and_end_at_one(expected):
    seen = []
    assert by_the_clock(lambda: time.sleep(1.3) or "done", expected, seen.append) == "done"
    assert len(seen) >= 2
    assert seen == sorted(seen)
    assert 0 < seen[0] < 1
    assert seen[-1] == 1


def test_an_error_in_the_work_is_raised():
    with pytest.raises(ZeroDivisionError):
        by_the_clock(lambda: 1 / 0, 1.0, lambda share: None)
