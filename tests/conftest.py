"""Fixtures that several folders of tests share."""

from __future__ import annotations

import gc
import gzip
import json
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

# A busy machine is no bug: no deadline. The gate tries the same examples every time; `make random` tries others.
settings.register_profile("gate", deadline=None, derandomize=True, database=None)
settings.register_profile("random", deadline=None, max_examples=300)
settings.load_profile("gate")

# Nobody's settings of git, colours or a terminal's width change a test, nor does a hook of git that runs them.
os.environ.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM="1")
for _name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
    os.environ.pop(_name, None)
# A job in the background has Ctrl-C ignored, and what it starts would, too.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark everything in ``validation`` as slow; shuffle where asked."""
    for item in items:
        if item.nodeid.startswith("tests/validation/"):
            item.add_marker("slow")
    seed = config.getoption("--shuffle")
    if seed is not None:
        random.Random(seed).shuffle(items)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the collector of garbage need not search it."""
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare what shows tests that need others before them, and the size of simulations."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in a random order")
    parser.addoption("--full", action="store_true", help="validate at sizes for which a gate has no time")


@pytest.fixture(scope="session")
def full(pytestconfig: pytest.Config) -> bool:
    """Whether simulations have the size of a schedule."""
    return bool(pytestconfig.getoption("--full"))


_ORACLE = Path(__file__).parent / "data" / "oracle"
_SPELLED = {"NaN": float("nan"), "Inf": float("inf"), "-Inf": float("-inf")}


def _numbers(value: Any) -> Any:
    """Replace the spelled-out special values, which JSON has no number for."""
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return _SPELLED.get(value, value) if isinstance(value, str) else value


@pytest.fixture(scope="session")
def oracle() -> Callable[[str], Any]:
    """Reference values of R by name: ``oracle("pairs")["cases"]``."""
    loaded: dict[str, Any] = {}

    def load(name: str) -> Any:
        if name not in loaded:
            with gzip.open(_ORACLE / f"{name}.json.gz", "rt", encoding="utf-8") as file:
                loaded[name] = _numbers(json.load(file))
        return loaded[name]

    return load


@pytest.fixture
def steady_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose ``sleep`` takes as long as it says, but for 2 % of noise, and takes no time.

    Real sleeps take what the load of the machine makes of them: verdicts on them would come by luck.
    """
    from tests.command import runs_are

    from speedproof.measuring.execute import Job, Run, execute

    noise = iter(np.exp(0.02 * np.random.default_rng(7).standard_normal(100_000)).tolist())

    def fake(job: Job) -> Run:
        if job.command[0] != "sleep" or job.timeout is not None:
            return execute(job)
        seconds = float(job.command[1]) * next(noise)
        return Run({"time": seconds, "user": 1e-4, "system": 1e-4, "memory": 2e6})

    runs_are(monkeypatch, fake)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's cache and sessions."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))
