"""The data folder: where benchmark files lie, and how they get there."""

from __future__ import annotations

import hashlib
import os
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
    if not all(path.exists() for path in paths):
        (folder / parts[0]).parent.mkdir(parents=True, exist_ok=True)
        make(download(url, parts), folder)
    return paths


def download(url: str, parts: list[str], sha256: str | None = None) -> Path:
    """The file behind an address, kept in the data folder; a ValueError says what to do without it."""
    import pooch

    folder = data_folder() / "downloads"
    try:
        known_hash = f"sha256:{sha256}" if sha256 else None
        fetched = pooch.retrieve(
            url, known_hash, path=folder, downloader=pooch.HTTPDownloader(timeout=30, progressbar=False)
        )
    except Exception as error:  # requests, urllib3 and the operating system each raise their own
        raise ValueError(
            f"{', '.join(parts)} must be in the data folder {data_folder()} and could not be fetched "
            f"({type(error).__name__}). Download {url} yourself and put the files there, or name the folder "
            "that has them in the environment variable SSLSOP_DATA."
        ) from error
    return Path(fetched)


def require_sha256(path: Path, sha256: str) -> None:
    """Refuse a file whose content is not the published one."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise ValueError(
            f"{path} must have the sha256 {sha256}; it has {found}. Delete it, so that it is fetched again."
        )
