"""Processes that tests wait for."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest


def gone(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    return True


def wait_for(what: Callable[[], object]) -> None:
    for _ in range(1000):
        if what():
            return
        time.sleep(0.02)
    pytest.fail("it did not come to pass")
