"""Fixtures that several folders of tests share."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
