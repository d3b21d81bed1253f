"""The data folder: where benchmark files lie, and how they get there."""

from __future__ import annotations

import hashlib
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path


def data_folder() -> Path:
    """The folder that `SSLSOP_DATA` names, or the user's cache folder."""
    named = os.environ.get("SSLSOP_DATA")
    if named:
        return Path(named)
    import pooch

    return Path(pooch.os_cache("sslsop"))


def locate(parts: list[str], url: str, make: Callable[[Path, Path], None]) -> list[Path]:
    """Paths of files in the data folder; absent ones are fetched from `url` and made from the download.

    Parameters
    ----------
    parts : names relative to the data folder, "cora/cora.content".
    url : canonical address of the archive that holds them.
    make : called with the downloaded file and the data folder; writes the parts.
    """
    folder = data_folder()
    paths = [folder / part for part in parts]
    if all(path.exists() for path in paths):
        return paths
    archive = _download(url, folder, parts)
    try:
        make(archive, folder)
    except (KeyError, EOFError, OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"the archive {archive} from {url} must hold {_list(parts)}; it does not ({error}). "
            "Delete it, so that it is fetched again."
        ) from error
    return paths


def _download(url: str, folder: Path, parts: list[str]) -> Path:
    """The file behind an address, kept in the data folder; a ValueError says what to do without it."""
    import pooch

    try:
        (folder / parts[0]).parent.mkdir(parents=True, exist_ok=True)
        # No published checksum of an archive is known to us: what it holds is checked by each loader.
        loader = pooch.HTTPDownloader(timeout=30, progressbar=False)
        return Path(pooch.retrieve(url, known_hash=None, path=folder / "downloads", downloader=loader))
    except Exception as error:  # requests, urllib3 and the operating system each raise their own
        raise ValueError(
            f"{_list(parts)} must be in the data folder {folder} and could not be fetched "
            f"({type(error).__name__}). Download {url} yourself and put the files there, or name the folder "
            "that has them in the environment variable SSLSOP_DATA."
        ) from error


def _list(parts: list[str]) -> str:
    return ", ".join(parts[:4]) + (f" and {len(parts) - 4} more" if len(parts) > 4 else "")


def require_sha256(path: Path, sha256: str) -> None:
    """Refuse a file whose content is not the published one."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise ValueError(
            f"{path} must have the sha256 {sha256}; it has {found}. Delete it, so that it is fetched again."
        )
