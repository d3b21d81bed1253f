"""Promises about the project itself."""

import os
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


def test_the_example_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert blocks
    for block in blocks:
        subprocess.run(
            [sys.executable, "-c", block],
            cwd=tmp_path,
            check=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
    assert (tmp_path / "cora.sslsop").stat().st_size > 0


def test_every_link_of_the_documents_leads_somewhere():
    for document in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        links = re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8"))
        assert [link for link in links if not (document.parent / link).exists()] == []
