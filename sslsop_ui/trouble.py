"""Errors that nobody foresaw: logged in full, shown by a reference number, listed without private data."""

from __future__ import annotations

import logging
import os
import secrets
import threading
import traceback
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

log = logging.getLogger(__name__)

OURS = ("sslsop_core", "sslsop_ui")
DEBUG = "SSLSOP_DEBUG"  # the environment variable that `run.sh app --debug` sets


@dataclass(frozen=True)
class Trouble:
    """What may be told of an error: no message, since it may quote data, and no path."""

    reference: str
    when: str
    kind: str
    where: str


_recent: deque[Trouble] = deque(maxlen=20)
_lock = threading.Lock()


def note(error: BaseException, doing: str) -> str:
    """Log an error with its traceback; the reference number under which it is found in the log."""
    reference = secrets.token_hex(4).upper()
    log.error("reference %s: %s failed", reference, doing, exc_info=error)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    with _lock:
        _recent.append(Trouble(reference, when, type(error).__name__, _place(error)))
    return reference


def recent() -> list[Trouble]:
    """The last errors of this process, the newest first."""
    with _lock:
        return list(reversed(_recent))


def _place(error: BaseException) -> str:
    """The innermost line of our own code that the error went through, by module and number."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if any(part in Path(frame.filename).parts for part in OURS)]
    return f"{Path(own[-1].filename).stem}:{own[-1].lineno}" if own else "elsewhere"


def set_up_log() -> None:
    """Write what our modules log to the terminal: warnings, and everything when debugging."""
    if logging.getLogger(OURS[0]).handlers:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for name in OURS:
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).setLevel(logging.DEBUG if os.environ.get(DEBUG) else logging.WARNING)
