"""What a machine and a build are known by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import speedproof as sp
from speedproof.data.suite import Record, Suite
from speedproof.history.packing import identity_of, label_of

PAIRS = Path(__file__).parents[2].parent / "shared" / "data" / "pyperf-jit-pairs"


def suite_of(**fields: str) -> Suite:
    return Suite.from_records([("v", Record("sort", np.array([1.0]), fields=tuple(fields.items())))])


LINUX = "Linux-6.8.0-85-generic-aarch64-with-glibc2.39"


XEON = {"cpu_model_name": "Xeon W", "cpu_count": "20"}


@pytest.mark.parametrize(("facts", "identity"), [
    ({**XEON, "platform": LINUX, "cpu_freq": "2100 MHz"}, "Xeon W, 20, aarch64, Linux"),
    ({**XEON, "platform": LINUX.replace("6.8.0-85", "6.14.0-1"), "hostname": "bee"}, "Xeon W, 20, aarch64, Linux"),
    ({**XEON, "cpu_model_name": "EPYC", "platform": LINUX}, "EPYC, 20, aarch64, Linux"),
    ({"cpu_count": "8", "hostname": "ant", "platform": LINUX}, "ant, 8, aarch64, Linux"),
    ({"cpu_model_name": "M1", "ram": "8", "arch": "arm64", "platform": LINUX}, "M1, 8, arm64, Linux"),
    ({"cpu_model_name": "M1", "ram": "8", "platform": LINUX}, "M1, 8, aarch64, Linux"), ({}, "unknown machine"),
])  # fmt: skip
def test_stable_facts_identify_a_machine(facts: dict[str, str], identity: str) -> None:
    """No kernel's update, no reading of the clock; the number of CPUs alone would mix the machines of a kind."""
    assert identity_of(suite_of(**facts)) == identity


def test_builds_of_one_commit_are_versions_of_their_own() -> None:
    """Another configuration is followed apart, whoever named the machine; folders in it do not count."""
    plain, jit = (
        identity_of(suite_of(python_config_args=f"'--enable-optimizations'{more} '--prefix=/tmp/{k}'"), "ant")
        for k, more in enumerate(("", " '--enable-experimental-jit=yes'"))
    )
    assert (plain, jit) == ("ant; optimizations", "ant; experimental-jit=yes optimizations")


@pytest.mark.skipif(not PAIRS.is_dir(), reason="public result files are not beside this checkout")
def test_real_pairs_are_no_sessions_of_one_commit(tmp_path: Path) -> None:
    """Plain and JIT builds of one commit: two tracks of two commits each, and no noise floor from them."""
    history = sp.History(tmp_path / "s.db", tmp_path)
    for folder in sorted(PAIRS.glob("bm-202605*")):
        (file,) = folder.glob("*.json")
        history.add(file)
    found = history.changes(benchmark="nbody")
    assert ([len(track) for track in found.tracks], found.noise) == ([2, 2], None)


@pytest.mark.parametrize(("identity", "label"), [
    ("4, x86_64, Linux", "4 CPUs, x86_64, Linux"),
    ("Xeon, 16, 8054960, x86_64", "Xeon, 16 CPUs, 8054960, x86_64"),
    ("Intel i5 (4 cores), 8.2G, Linux", "Intel i5 (4 cores), 8.2G, Linux"), ("ant; 3", "ant; 3"),
    ("unknown machine", "unknown machine"),
])  # fmt: skip
def test_a_number_of_processors_says_so(identity: str, label: str) -> None:
    assert label_of(identity) == label
