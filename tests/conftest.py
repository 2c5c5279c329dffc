"""Fixtures that several folders of tests share."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

# A busy machine is no bug: no deadline.
settings.register_profile("speedproof", deadline=None)
settings.load_profile("speedproof")

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
    from speedproof.measure.execute import Job, Run, execute

    noise = iter(np.exp(0.02 * np.random.default_rng(7).standard_normal(100_000)).tolist())

    def fake(job: Job) -> Run:
        if job.command[0] != "sleep" or job.timeout is not None:
            return execute(job)
        seconds = float(job.command[1]) * next(noise)
        return Run({"time": seconds, "user": 1e-4, "system": 1e-4, "memory": 2e6})

    monkeypatch.setattr("speedproof.measure.executor.execute", fake)
