"""The store of runs: everything that was run, and every cell that was ever computed, in one SQLite file.

Each operation opens the file, does one short transaction and closes it again, so threads and processes
share it freely; a process that is killed leaves either all of an operation or nothing. Nothing that is
read back can run: values are numbers, text and JSON.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from ..datasets import Problem
from ..features import Features
from ..learner import SSLSOP
from ..modelfile import load_model, save_model
from .cells import Cell, restored
from .fingerprints import fingerprint, plain, versions

APPLICATION = 0x53534C53  # "SSLS": SQLite's own mark of whose file this is
VERSION = 1
WAIT_SECONDS = 30.0  # for other writers
LONGEST = 16_000_000  # characters of one JSON value
KINDS = ("train", "compare", "sweep")
STATUSES = ("unfinished", "finished", "stopped", "failed")
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

SCHEMA = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, created TEXT NOT NULL, status TEXT NOT NULL,
    data TEXT NOT NULL, fingerprint TEXT NOT NULL, seed INTEGER NOT NULL, seconds REAL NOT NULL,
    settings TEXT NOT NULL, versions TEXT NOT NULL, losses TEXT NOT NULL, curves TEXT NOT NULL
);
CREATE TABLE run_cells (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, number INTEGER PRIMARY KEY, cell TEXT NOT NULL
);
CREATE INDEX cells_of_run ON run_cells (run);
CREATE TABLE cells (
    key TEXT PRIMARY KEY, data TEXT NOT NULL, method TEXT NOT NULL, created TEXT NOT NULL, cell TEXT NOT NULL
);
"""


@dataclass(frozen=True)
class Record:
    """One run as the store knows it.

    Attributes
    ----------
    id : unguessable; also the name of its model file.
    kind : "train", "compare" or "sweep".
    created : date and time, UTC.
    status : "unfinished" while it runs, and for ever if it was killed; "finished", "stopped" or "failed".
    data, fingerprint : name of the data and sha256 of what a fold is made of.
    settings : whatever is needed to repeat the run.
    versions : of Python and the packages that results depend on.
    losses : measures by name.
    curves : lists of numbers by name, one entry per iteration.
    """

    id: str
    name: str
    kind: str
    created: str
    status: str
    data: str
    fingerprint: str
    seed: int
    seconds: float
    settings: dict[str, Any]
    versions: dict[str, str]
    losses: dict[str, float]
    curves: dict[str, list[float]]


COLUMNS = tuple(field.name for field in fields(Record))
AS_JSON = ("settings", "versions", "losses", "curves")


def home() -> Path:
    """The folder that `SSLSOP_HOME` names, or the user's data folder: runs are no cache."""
    named = os.environ.get("SSLSOP_HOME")
    if named:
        return Path(named)
    import platformdirs

    return platformdirs.user_data_path("sslsop")


class NoSuchRunError(ValueError, LookupError):
    """There is no run of that id, or not any more."""

    def __init__(self, run: str):
        super().__init__(f"run must be the id of a stored run; got {run!r}. It may have been deleted.")


class Store:
    """Runs and cells in `folder`/runs.sqlite, models in `folder`/models.

    Parameters
    ----------
    folder : made if it does not exist; by default `home()`.

    Raises
    ------
    ValueError : if the file there is not a store, is damaged, or is of a newer version.

    >>> import tempfile
    >>> from sslsop_core import datasets
    >>> store = Store(tempfile.mkdtemp())
    >>> run = store.start("train", datasets.load("moons"), {"k": 5}, name="first try")
    >>> store.change(run, status="finished", losses={"loss": 0.1})
    >>> [(record.name, record.status) for record in store.runs(kind="train")]
    [('first try', 'finished')]
    """

    def __init__(self, folder: str | Path | None = None):
        self.folder = Path(folder) if folder is not None else home()
        self.path = self.folder / "runs.sqlite"
        self._make(self.folder)
        self._prepare()

    # --- runs ------------------------------------------------------------------------------------------

    def start(
        self, kind: str, problem: Problem, settings: dict[str, Any], *, seed: int = 0, name: str = ""
    ) -> str:
        """Enter a run that begins now; its id."""
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}.")
        created = _now()
        record = Record(
            id=secrets.token_urlsafe(12),
            name=name or f"{problem.name}, {created[:16].replace('T', ' ')}",
            kind=kind,
            created=created,
            status="unfinished",
            data=problem.name,
            fingerprint=fingerprint(problem),
            seed=seed,
            seconds=0.0,
            settings=settings,
            versions=versions(),
            losses={},
            curves={},
        )
        values = [_stored(column, getattr(record, column)) for column in COLUMNS]
        marks = ", ".join("?" * len(COLUMNS))
        with self._write() as db:
            db.execute(f"INSERT INTO runs ({', '.join(COLUMNS)}) VALUES ({marks})", values)
        return record.id

    def change(self, run: str, **facts: Any) -> None:
        """Set name, status, seconds, settings, losses or curves of a run."""
        allowed = ("name", "status", "seconds", "settings", "losses", "curves")
        strange = sorted(set(facts) - set(allowed))
        if strange or not facts:
            raise ValueError(f"facts must be among {', '.join(allowed)}; got {', '.join(strange) or 'none'}.")
        if facts.get("status", "finished") not in STATUSES:
            raise ValueError(f"status must be one of {', '.join(STATUSES)}; got {facts['status']!r}.")
        if not self._set(run, facts):
            raise NoSuchRunError(run)

    def _set(self, run: str, facts: dict[str, Any]) -> bool:
        """Whether the run was there to be changed."""
        columns = ", ".join(f"{column} = ?" for column in facts)
        values = [_stored(column, value) for column, value in facts.items()]
        with self._write() as db:
            return db.execute(f"UPDATE runs SET {columns} WHERE id = ?", [*values, run]).rowcount == 1

    def begin_again(self, run: str) -> None:
        """Go on with a run that did not end: its cells, which are kept, are entered anew as they come."""
        with self._write() as db:
            db.execute("DELETE FROM run_cells WHERE run = ?", [run])
        self.change(run, status="unfinished")

    def rename(self, run: str, name: str) -> None:
        self.change(run, name=name)

    def delete(self, run: str) -> None:
        """Forget a run and its model; cells stay, for others to find."""
        with self._write() as db:
            if db.execute("DELETE FROM runs WHERE id = ?", [run]).rowcount != 1:
                raise NoSuchRunError(run)
        self.model_path(run).unlink(missing_ok=True)

    def runs(
        self, *, kind: str | None = None, data: str | None = None, text: str = "", limit: int = 1000
    ) -> list[Record]:
        """Runs, the newest first: of a kind, on data of a name, with a text in their name."""
        where, values = _where(
            {"kind = ?": kind, "data = ?": data, "instr(folded(name), folded(?)) > 0": text or None}
        )
        sql = f"SELECT {', '.join(COLUMNS)} FROM runs {where} ORDER BY created DESC, rowid DESC LIMIT ?"
        with self._open() as db:
            db.create_function("folded", 1, _folded, deterministic=True)
            return [_record(row) for row in db.execute(sql, [*values, limit])]

    def run(self, run: str) -> Record:
        """The run of that id."""
        with self._open() as db:
            row = db.execute(f"SELECT {', '.join(COLUMNS)} FROM runs WHERE id = ?", [run]).fetchone()
        if row is None:
            raise NoSuchRunError(run)
        return _record(row)

    def table(self, records: Sequence[Record] | None = None) -> pd.DataFrame:
        """A row per run, all of them by default; settings, versions and losses as columns of their own."""
        rows = []
        for record in self.runs() if records is None else records:
            row = asdict(record)
            nested = {part: row.pop(part) for part in ("settings", "versions", "losses")}
            row.pop("curves")
            rows.append(row | {f"{part}.{k}": _flat(v) for part in nested for k, v in nested[part].items()})
        return pd.DataFrame(rows, columns=None if rows else [c for c in COLUMNS if c not in AS_JSON])

    @contextmanager
    def running(self, run: str) -> Iterator[None]:
        """Around the work of a run: enters how it ended, unless it was deleted, and adds how long it took."""
        began, status = time.perf_counter(), "failed"
        try:
            yield
            status = "finished"
        except (GeneratorExit, KeyboardInterrupt):
            status = "stopped"
            raise
        finally:
            took = time.perf_counter() - began
            sql = "UPDATE runs SET status = ?, seconds = seconds + ? WHERE id = ?"
            with self._write() as db:
                db.execute(sql, [status, took, run])

    # --- cells -----------------------------------------------------------------------------------------

    def cell(self, key: str) -> Cell | None:
        """The cell with that key (see `cells.Task.key`), whichever run it was computed for."""
        with self._open() as db:
            row = db.execute("SELECT cell FROM cells WHERE key = ?", [key]).fetchone()
        return None if row is None else Cell.from_json(_loads(row[0]))

    def keep_cell(self, key: str, data: str, method: str, cell: Cell) -> None:
        """Keep a cell for all runs; of two that come at the same time the first stays."""
        row = [key, data, method, _now(), _dumps(cell.to_json())]
        with self._write() as db:
            db.execute("INSERT OR IGNORE INTO cells VALUES (?, ?, ?, ?, ?)", row)

    def forget_cells(self, *, method: str | None = None, data: str | None = None) -> int:
        """Drop kept cells of a kind of method (a class name) or of data (a fingerprint), so that they are
        computed again; how many there were."""
        where, values = _where({"method = ?": method, "data = ?": data})
        with self._write() as db:
            return db.execute(f"DELETE FROM cells {where}", values).rowcount

    def add_cell(self, run: str, cell: Cell) -> None:
        """Enter a cell, refused ones too, into a run; one that was deleted meanwhile stays so."""
        insert = "INSERT INTO run_cells (run, cell) SELECT id, ? FROM runs WHERE id = ?"
        with self._write() as db:
            db.execute(insert, [_dumps(cell.to_json()), run])

    def cells(self, run: str) -> list[Cell]:
        """The cells of a run, in the order in which they came."""
        with self._open() as db:
            rows = db.execute("SELECT cell FROM run_cells WHERE run = ? ORDER BY number", [run]).fetchall()
        return [Cell.from_json(_loads(row[0])) for row in rows]

    # --- models ----------------------------------------------------------------------------------------

    def model_path(self, run: str) -> Path:
        """Where the model of a run is, if it has one."""
        if not ID.fullmatch(run):
            raise ValueError(f"run must be the id of a stored run; got {run!r}.")
        return self.folder / "models" / f"{run}.sslsop"

    def keep_model(self, run: str, model: SSLSOP, features: Features | None = None) -> None:
        """Write the model of a run; one that was there is replaced once the new one is complete."""
        path = self.model_path(self.run(run).id)
        self._make(path.parent)
        save_model(model, path, features)

    def model(self, run: str) -> SSLSOP:
        """The model of a run."""
        path = self.model_path(run)
        if not path.exists():
            raise ValueError(f"run {run!r} has no model; train it again to get one.")
        return load_model(path)

    # --- the file --------------------------------------------------------------------------------------

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection, outside of any transaction; what SQLite complains of becomes a ValueError."""
        try:
            db = sqlite3.connect(self.path, timeout=WAIT_SECONDS, isolation_level=None)
            try:
                db.execute("PRAGMA trusted_schema = OFF")
                db.execute("PRAGMA foreign_keys = ON")
                db.execute(
                    "PRAGMA synchronous = NORMAL"
                )  # a kill loses nothing, a power cut the last entries
                yield db
            finally:
                db.close()
        except sqlite3.OperationalError as error:
            raise ValueError(
                f"the store {self.path} must be readable and writable; it is not: {error}."
            ) from error
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self._not_ours()} ({error})") from error

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        """One transaction, which waits for its turn before it reads anything."""
        with self._open() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    def _prepare(self) -> None:
        """Make the tables of a new file; refuse a file that is not ours or too new."""
        with self._write() as db:
            mark, version = (
                db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
            )
            tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if mark == version == tables == 0:
                for statement in SCHEMA.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {APPLICATION}")
                db.execute(f"PRAGMA user_version = {VERSION}")
            elif mark != APPLICATION:
                raise ValueError(self._not_ours())
            elif version > VERSION:
                raise ValueError(
                    f"{self.path} has version {version}; this library reads {VERSION}. Upgrade it, or name "
                    "another folder in the environment variable SSLSOP_HOME."
                )
        with self._open() as db:
            _write_ahead(db)

    @staticmethod
    def _make(folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"the folder of runs must be writable; {str(folder)!r} cannot be made ({error.strerror}). "
                "Name another in the environment variable SSLSOP_HOME."
            ) from error

    def _not_ours(self) -> str:
        return (
            f"{self.path} must be a store of runs; it is another file, or damaged. Move it away, or name "
            "another folder in the environment variable SSLSOP_HOME."
        )


def _write_ahead(db: sqlite3.Connection) -> None:
    """Readers and a writer do not wait for each other from now on: the journal's mode stays with the file.

    SQLite does not wait its turn to change it, as it does for all else, so this does.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(0.01)


def _folded(name: Any) -> str:
    """A text without its case; SQLite's own `lower` knows the letters of English only."""
    return str(name).casefold()


def _flat(value: Any) -> Any:
    return _dumps(value) if isinstance(value, dict | list) else value


def _where(conditions: dict[str, Any]) -> tuple[str, list[Any]]:
    """The WHERE of those conditions that have a value, and the values."""
    asked = {condition: value for condition, value in conditions.items() if value is not None}
    return f"WHERE {' AND '.join(asked)}" if asked else "", list(asked.values())


def _stored(column: str, value: Any) -> Any:
    return _dumps(value) if column in AS_JSON else value


def _record(row: Sequence[Any]) -> Record:
    values = dict(zip(COLUMNS, row, strict=True))
    return restored(Record, values | {column: _loads(values[column]) for column in AS_JSON})


def _dumps(value: Any) -> str:
    text = json.dumps(value, default=plain)  # in the order of the caller: a grid has a first parameter
    if len(text) > LONGEST:
        raise ValueError(f"a stored value must have at most {LONGEST} characters of JSON; got {len(text)}.")
    return text


def _loads(text: Any) -> dict[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) and len(text) <= LONGEST else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError("the store of runs is damaged: a value is not the JSON that was written.")
    return value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
