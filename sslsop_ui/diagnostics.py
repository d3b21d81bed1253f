"""What helps to find a fault, as text to copy: versions, settings, sizes, last errors; nothing private."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sslsop_core import __version__

from .trouble import recent

PACKAGES = (
    "streamlit", "numpy", "scipy", "scikit-learn", "numba", "umap-learn", "pynndescent",
    "plotly", "pandas", "pyarrow", "joblib", "safetensors",
)  # fmt: skip


@cache
def versions() -> dict[str, str]:
    """Versions of Python, the system and the packages, without importing any of them."""
    found = {"sslsop-lab": __version__, "python": platform.python_version()}
    found["system"] = f"{platform.system()} {platform.machine()}"
    return found | {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def report(settings: dict[str, Any], sizes: dict[str, Any]) -> str:
    """Text without names of files, classes or people, without cells and paths.

    Parameters
    ----------
    settings : parameters of the visitor; data sets by name, an own file as "upload".
    sizes : numbers and states of the data and of the run.
    """
    lines = [f"{name} {found}" for name, found in versions().items()]
    lines += [f"cores {os.cpu_count()}"]
    for title, part in (("settings", settings), ("sizes", sizes)):
        lines += [f"[{title}]", *(f"{name} = {value}" for name, value in part.items())] if part else []
    errors = [f"{t.when} {t.reference} {t.kind} at {t.where}" for t in recent()]
    return "\n".join([*lines, "[last errors]", *(errors or ["none"])])
