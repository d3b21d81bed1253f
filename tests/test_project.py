"""Promises about the project itself."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_core_stays_free_of_the_app():
    code = "import sys, sslsop_core; sys.exit('streamlit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_no_code_that_runs_what_somebody_else_wrote():
    forbidden = re.compile(
        r"unsafe_allow_html|pickle\.loads?\(|joblib\.load\(|allow_pickle\s*=\s*True|\beval\(|\bexec\("
    )
    sources = [p for p in ROOT.rglob("*.py") if "tests" not in p.parts and ".venv" not in p.parts]
    assert sources
    assert [str(p) for p in sources if forbidden.search(p.read_text(encoding="utf-8"))] == []
