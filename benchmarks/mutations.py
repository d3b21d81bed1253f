"""Ways to damage a file: bytes, fields, members of a zip, the JSON of a header, values in a database."""

from __future__ import annotations

import io
import json
import random
import re
import sqlite3
import struct
import warnings
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

Mutation = Callable[[bytes, random.Random], bytes]

EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
FIELDS = (
    "", " ", "?", "_", "0", "-1", "1", "1.5", "1e400", "-1e308", "1e-320", "nan", "inf", "-inf", "None",
    "True", "0x10", "1_000", "9" * 40, "1,5", '"', '""', "'", "\\", "\0", "\ufeff", "\u2028", "é", "😀",
    "a" * 250, "=1+1", "node", "root", "label:", "output", "../x", "#", ":", "1:1", "[]", "{}", "null", "NaN",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 10**9, 2**63, -(2**63), 1.5, 1e308, 1e-308, float("nan"), float("inf"),
    "", "a", "auto", "é" * 300, [], {}, [[]], [1], {"a": 1}, "0",
)  # fmt: skip
DTYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u1", "u4", "u8", "?")


def mutate(data: bytes, ways: Sequence[Mutation], rng: random.Random) -> bytes:
    """The data after one to four mutations, any of the ways."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
        data = rng.choice(ways)(data, rng)
    return data


# --- bytes -------------------------------------------------------------------------------------------


def bytes_changed(data: bytes, rng: random.Random) -> bytes:
    """Bits flipped, edge values written over, slices cut out, doubled, moved or filled with noise."""
    if not data:
        return rng.randbytes(rng.randrange(1, 20))
    a = rng.randrange(len(data))
    b = min(len(data), a + rng.choice((1, 2, 4, 8, 16, 64, 300)))
    way = rng.randrange(7)
    if way == 0:
        return data[:a] + bytes([data[a] ^ (1 << rng.randrange(8))]) + data[a + 1 :]
    if way == 1:
        width, edge = rng.choice((1, 2, 4, 8)), rng.choice(EDGES)
        written = (edge % 256**width).to_bytes(width, rng.choice(("little", "big")))
        return data[:a] + written + data[a + width :]
    if way == 2:
        return data[:a] + data[b:]
    if way == 3:
        return data[:b] + data[a:b] * rng.choice((1, 2, 50)) + data[b:]
    if way == 4:
        c = rng.randrange(len(data))
        return data[:c] + data[a:b] + data[c:]
    if way == 5:
        return data[:a] + rng.randbytes(b - a) + data[b:]
    return data[:a]


# --- text --------------------------------------------------------------------------------------------


def fields_changed(data: bytes, rng: random.Random) -> bytes:
    """A field replaced by a nasty one, lines dropped, doubled or swapped, another separator."""
    text = data.decode("utf-8", "surrogateescape")
    way = rng.randrange(5)
    if way < 2:
        parts = re.split(r"([,;:\t\n ]|&|=)", text)
        parts[2 * rng.randrange((len(parts) + 1) // 2)] = rng.choice(FIELDS)
        text = "".join(parts)
    elif way == 2:
        text = text.replace(
            rng.choice(",;:\t\n "), rng.choice((",", ";", ":", "\t", "\n", " ", "", ",,", '"'))
        )
    else:
        lines = text.split("\n")
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        if way == 3:
            lines[i], lines[j] = lines[j], lines[i]
        else:
            lines[i:j] = lines[i:j] * rng.choice((0, 2, 20))
        text = "\n".join(lines)
    return text.encode("utf-8", "surrogateescape")


# --- zips --------------------------------------------------------------------------------------------


def members_changed(data: bytes, rng: random.Random) -> bytes:
    """A sound zip of unsound members: renamed, emptied, doubled, damaged, packed in another way."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    except Exception:  # already damaged beyond reading
        return bytes_changed(data, rng)
    if not members:
        return data
    i = rng.randrange(len(members))
    name, content = members[i]
    way = rng.randrange(6)
    if way == 0:
        name = rng.choice(
            ("X.npy", "y.npy", "lengths.npy", "a/b.png", "../x.png", "/x.png", "tree.csv", "a", "é/1.jpg")
        )
    elif way == 1:
        content = rng.choice(
            (b"", b"\0" * 5000, b"node,parent\na,b\n", members[rng.randrange(len(members))][1])
        )
    elif way == 2:
        content = npy_header_changed(content, rng)
    elif way == 3:
        members += [(name, content)]
    else:
        content = bytes_changed(content, rng)
    members[i] = (name, content)
    packed = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(packed, "w") as archive:
        warnings.simplefilter("ignore")  # two members of one name: meant
        for name, content in members:
            archive.writestr(name, content, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
    return packed.getvalue()


def npy_header_changed(content: bytes, rng: random.Random) -> bytes:
    """An array file with another dtype, order or shape in its header."""
    if content[:6] != b"\x93NUMPY" or len(content) < 12:
        return bytes_changed(content, rng)
    length = struct.unpack("<H", content[8:10])[0]
    header, body = content[10 : 10 + length].decode("latin-1").rstrip(), content[10 + length :]
    way = rng.randrange(3)
    if way == 0:
        header = re.sub(
            r"'descr': '[^']*'", f"'descr': '<{rng.choice((*DTYPES, 'U5', 'O', 'V8', 'M8[s]'))}'", header
        )
    elif way == 1:
        shape = tuple(rng.choice((0, 1, 2, 12, -1, 2**40)) for _ in range(rng.randrange(4)))
        header = re.sub(r"\([^)]*\)", str(shape), header)
    else:
        header = fields_changed(header.encode("latin-1", "replace"), rng).decode("latin-1")
    told = header.encode("latin-1", "replace") + b"\n"
    return content[:8] + struct.pack("<H", len(told) % 65536) + told + body


# --- model files -------------------------------------------------------------------------------------


def _opened(data: bytes) -> tuple[Any, dict[str, np.ndarray]] | None:
    """Header and tensors of a model file, or None if it is damaged already."""
    try:
        length = int.from_bytes(data[:8], "little")
        return json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["sslsop"]), load(data)
    except (ValueError, LookupError, TypeError, SafetensorError):
        return None


def header_changed(data: bytes, rng: random.Random) -> bytes:
    """A model file whose own JSON header has a value replaced, removed, doubled or of another type."""
    opened = _opened(data)
    if opened is None:
        return bytes_changed(data, rng)
    header, tensors = opened
    return save(tensors, {"sslsop": json.dumps(_changed_somewhere(header, rng))})


def _changed_somewhere(value: Any, rng: random.Random) -> Any:
    """The JSON value with one node of it changed."""
    inside = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    if not inside or rng.random() < 0.15:
        return rng.choice(VALUES)
    chosen = rng.choice(list(inside))
    changed = dict(value) if isinstance(value, dict) else list(value)
    way = rng.random()
    if way < 0.1:
        del changed[chosen]
    elif way < 0.2:
        other = rng.choice(list(inside))
        changed[chosen] = value[other]
    else:
        changed[chosen] = _changed_somewhere(value[chosen], rng)
    return changed


def tensors_changed(data: bytes, rng: random.Random) -> bytes:
    """A model file with a tensor of other values, another shape or another type."""
    opened = _opened(data)
    if opened is None or not opened[1]:
        return bytes_changed(data, rng)
    header, tensors = opened
    name = rng.choice(sorted(tensors))
    tensor = tensors[name]
    way = rng.randrange(6)
    if way == 0:
        del tensors[name]
    elif way == 1:
        with np.errstate(all="ignore"):
            tensors[name] = tensor.astype(rng.choice(DTYPES))
    elif way == 2:
        tensors[name] = np.ascontiguousarray(
            tensor[: rng.randrange(len(tensor) + 1)] if tensor.ndim else tensor
        )
    elif way == 3:
        tensors[name] = np.ascontiguousarray(
            rng.choice((tensor.ravel(), tensor.T, tensor[None], tensor[::-1]))
        )
    elif tensor.size:
        changed = tensor.copy()
        with np.errstate(all="ignore"):
            value = np.array(rng.choice((0, -1, 1, 2, 1e30, 1e308, np.nan, np.inf))).astype(tensor.dtype)
        changed.flat[rng.randrange(tensor.size) if way == 4 else slice(None)] = value
        tensors[name] = changed
    return save(tensors, {"sslsop": json.dumps(header)})


# --- databases ---------------------------------------------------------------------------------------


def values_changed(data: bytes, rng: random.Random) -> bytes:
    """A sound SQLite file with a nasty value in one column, or JSON changed somewhere inside."""
    db = sqlite3.connect(":memory:")
    try:
        db.deserialize(data[:18] + b"\1\1" + data[20:])  # out of WAL mode, which needs a file
        table = rng.choice(
            [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        )
        column = rng.choice([row[1] for row in db.execute(f'PRAGMA table_info("{table}")')])
        (value,) = db.execute(f'SELECT "{column}" FROM "{table}" LIMIT 1').fetchone()
        try:
            value = json.dumps(_changed_somewhere(json.loads(value), rng))
        except (ValueError, TypeError):
            value = rng.choice(FIELDS)
        db.execute("PRAGMA ignore_check_constraints = ON")
        db.execute(f'UPDATE "{table}" SET "{column}" = ?', [value])
        return db.serialize()
    except (sqlite3.Error, TypeError, IndexError, ValueError):  # already damaged beyond reading
        return bytes_changed(data, rng)
    finally:
        db.close()
