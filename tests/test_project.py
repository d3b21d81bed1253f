"""Promises about the project itself."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def test_core_stays_free_of_the_app():
    code = "import sys, sslsop_core; sys.exit('streamlit' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_no_code_that_runs_what_somebody_else_wrote():
    forbidden = re.compile(
        r"unsafe_allow_html|\b(import|from) (pickle|cloudpickle|dill|marshal|shelve)\b|pickle\.loads?\(|"
        r"joblib\.load\(|allow_pickle\s*=\s*True|\beval\(|\bexec\(|os\.system\(|shell\s*=\s*True"
    )
    sources = [p for p in ROOT.rglob("*.py") if "tests" not in p.parts and ".venv" not in p.parts]
    assert sources
    assert [str(p) for p in sources if forbidden.search(p.read_text(encoding="utf-8"))] == []


def test_the_server_is_set_up_as_the_security_page_promises():
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["server"]["address"] == "127.0.0.1"
    assert settings["server"]["enableXsrfProtection"]
    assert settings["server"]["maxUploadSize"] <= 50
    assert settings["client"]["showErrorDetails"] == "type"
    assert settings["client"]["disableDataExport"]
    assert not settings["browser"]["gatherUsageStats"]


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
    for document in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        *(ROOT / "docs").glob("*.md"),
    ):
        links = re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8"))
        assert [link for link in links if not (document.parent / link).exists()] == []


LOCK = ROOT / "requirements-lock.txt"
PERMISSIVE = re.compile(r"MIT|BSD|Apache|Mozilla|MPL|PSF|Python Software|HPND|ISC|Zlib|CC0", re.IGNORECASE)


def locked() -> dict[str, str]:
    found = re.findall(r"^([\w.-]+)==([^\s;]+)", LOCK.read_text(encoding="utf-8"), re.M)
    return {canonicalize_name(name): version for name, version in found}


def test_the_lock_pins_every_requirement_with_hashes_and_names_no_server():
    text, pins = LOCK.read_text(encoding="utf-8"), locked()
    for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").split():
        wanted = Requirement(line)
        assert pins[canonicalize_name(wanted.name)] in wanted.specifier, line
    assert len(re.findall(r"^\S+==[^\n]*\\\n +--hash=sha256:[0-9a-f]{64}\b", text, re.M)) == len(pins)
    assert "://" not in text
    assert "index" not in text


def test_every_package_that_comes_with_the_app_has_a_permissive_licence():
    for name in locked():
        try:
            facts = metadata(name)
        except PackageNotFoundError:
            continue  # for another system, or of another version of the lock
        classifiers = [line for line in facts.get_all("Classifier", []) if line.startswith("License")]
        said = " ".join([facts.get("License-Expression") or "", facts.get("License") or "", *classifiers])
        assert PERMISSIVE.search(said), f"{name}: {said[:200]}"
        assert "AGPL" not in said, name
