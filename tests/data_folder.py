"""Where the benchmark files are, for the tests that need them; others do without."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("SSLSOP_DATA", ROOT.parent / "shared" / "data"))

needs_benchmarks = pytest.mark.skipif(
    not (FOLDER / "sun15").is_dir(),
    reason="the paper's benchmarks are in neither ../shared/data nor the folder SSLSOP_DATA",
)


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder, named to the loaders."""
    monkeypatch.setenv("SSLSOP_DATA", str(FOLDER))
    return FOLDER
