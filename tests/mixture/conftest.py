"""Reference values and the kernels that this machine can run."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from speedproof.mixture import em
from speedproof.mixture.model import MixtureModel

DATA = Path(__file__).parents[1] / "data" / "oracle_mixture"


def given(record: dict[str, Any]) -> MixtureModel:
    """Return the mixture that R has by the names of its fields."""
    return MixtureModel(*(np.atleast_1d(record[name]) for name in ("pro", "mean", "sd")))


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
