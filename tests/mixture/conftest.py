"""Reference values and the kernels that this machine can run."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from speedproof.mixture import em

DATA = Path(__file__).parents[1] / "data" / "oracle_mixture"


def _load(name: str) -> dict[str, Any]:
    with gzip.open(DATA / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        loaded: dict[str, Any] = json.load(file)
    return loaded


@pytest.fixture(scope="session")
def mixtures() -> list[dict[str, Any]]:
    return list(_load("mixtures")["samples"])


@pytest.fixture(scope="session")
def metrics() -> dict[str, Any]:
    return _load("mixture_metrics")


@pytest.fixture(scope="session")
def bootstraps() -> list[dict[str, Any]]:
    return list(_load("mixture_bootstrap")["samples"])


@pytest.fixture(scope="session")
def kernels() -> list[str]:
    names = [name for name in em.kernel_names() if name]
    if not names:
        pytest.skip("built without the compiled kernels")
    return names
