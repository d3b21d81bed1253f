"""Zip and NPZ files, checked before anything is unpacked; nothing is ever written to disk or unpickled."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

import numpy as np

from .limits import Limits

CENTRAL = b"PK\x01\x02"  # opens each entry of a zip's list of members


def open_zip(data: bytes, limits: Limits) -> dict[str, bytes]:
    """Members of a zip by name, unpacked; a ValueError if any of it is suspicious."""
    # Counting marks is much cheaper than letting zipfile list a million members.
    if data.count(CENTRAL) > limits.members:
        raise ValueError(f"a zip must have at most {limits.members:,} files; this one has more. Split it.")
    with _undamaged():
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = [member for member in archive.infolist() if not member.is_dir()]
    for member in members:
        _refuse_member(member, limits)
    _refuse_total(members, limits)
    with _undamaged():
        return {member.filename: archive.read(member) for member in members}


@contextmanager
def _undamaged() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # zipfile, zlib and struct each raise their own, even IndexError
        raise ValueError(f"the zip is damaged ({error!s:.80}). Make it again.") from error


def _refuse_member(member: zipfile.ZipInfo, limits: Limits) -> None:
    name = member.filename
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
        raise ValueError(f"a zip must hold plain relative paths; {name!r:.80} is not. Make it again.")
    if len(name) > limits.name * 5:
        raise ValueError(f"file names in a zip must be short; {name[:40]!r}... has {len(name):,} characters.")
    if member.flag_bits & 1:
        raise ValueError(f"the zip must not have a password; {name!r} is encrypted.")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{name!r} in the zip is packed in an unusual way; use plain (deflate) zip.")
    if member.file_size > 1_000_000 and member.file_size > limits.ratio * max(member.compress_size, 1):
        raise ValueError(
            f"{name!r} in the zip would unpack to {member.file_size:,} bytes from {member.compress_size:,}; "
            f"at most {limits.ratio} times is accepted. Store it with less compression."
        )


def _refuse_total(members: list[zipfile.ZipInfo], limits: Limits) -> None:
    total = sum(member.file_size for member in members)
    if total > limits.unpacked:
        raise ValueError(
            f"a zip must unpack to at most {limits.unpacked:,} bytes; this one has {total:,}. Split it."
        )
    names = [member.filename for member in members]
    if len(set(names)) < len(names):
        raise ValueError("a zip must not hold two files of one name. Make it again.")


def read_npz(data: bytes, wanted: Iterable[str], limits: Limits) -> dict[str, np.ndarray]:
    """The wanted arrays of an NPZ file, those that are there; headers are checked first."""
    members = open_zip(data, limits)
    return {name: _read_npy(name, members[f"{name}.npy"]) for name in wanted if f"{name}.npy" in members}


def _read_npy(name: str, content: bytes) -> np.ndarray:
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, _, dtype = header(stream)
    except Exception:  # numpy parses the header as Python text: any error of a parser comes out
        raise ValueError(f"array {name!r} has an unreadable header. Write it with numpy.savez.") from None
    if dtype.hasobject or dtype.kind not in "biufU":
        raise ValueError(
            f"array {name!r} must hold numbers or text; it holds {dtype}. Objects would have to be "
            "unpickled, which can run code: convert them first."
        )
    if math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise ValueError(f"array {name!r} says it has the shape {shape}, but its data has another size.")
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)
