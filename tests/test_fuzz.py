"""A short run of benchmarks/fuzz.py: every reader takes damaged files or refuses them with a reason."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_damaged_files_give_a_result_or_a_reason():
    command = [sys.executable, "benchmarks/fuzz.py", "--inputs", "1300", "--seed", "7"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "0 failures" in found.stdout
