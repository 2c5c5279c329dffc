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
    """A suite whose file says so much of its machine."""
    return Suite.from_records([("v", Record("sort", np.array([1.0]), fields=tuple(fields.items())))])


LINUX = "Linux-6.8.0-85-generic-aarch64-with-glibc2.39"


def test_stable_facts_identify_a_machine() -> None:
    """A kernel's update and a reading of the clock do not make another machine; another model does."""
    facts = {"cpu_model_name": "Xeon W", "cpu_count": "20"}
    first = identity_of(suite_of(**facts, platform=LINUX, cpu_freq="2100 MHz"))
    assert first == "Xeon W, 20, aarch64, Linux"
    updated = LINUX.replace("6.8.0-85", "6.14.0-1")
    assert identity_of(suite_of(**facts, platform=updated, hostname="runner-7")) == first
    assert identity_of(suite_of(**{**facts, "cpu_model_name": "EPYC"}, platform=LINUX)) != first


def test_a_machine_without_a_model_is_known_by_its_host() -> None:
    """The number of its CPUs alone would mix all machines of a kind."""
    one, two = (
        identity_of(suite_of(cpu_count="8", hostname=name, platform=LINUX)) for name in ("ant", "bee")
    )
    assert (one, two) == ("ant, 8, aarch64, Linux", "bee, 8, aarch64, Linux")
    assert identity_of(suite_of()) == "unknown machine"


def test_an_architecture_is_that_of_its_own_field() -> None:
    """Before what the platform says."""
    facts = {"cpu_model_name": "M1", "ram": "8"}
    assert identity_of(suite_of(**facts, arch="arm64", platform=LINUX)) == "M1, 8, arm64, Linux"
    assert identity_of(suite_of(**facts, platform=LINUX)) == "M1, 8, aarch64, Linux"


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
    """What people read of a machine whose files tell little."""
    assert label_of(identity) == label
