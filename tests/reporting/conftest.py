"""Suites with every verdict, names that attack, and numbers at the edges."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from msgspec.structs import replace

from speedproof.conclude.suite import SuiteComparison, compare_suite
from speedproof.data.sample import Sample, Trait
from speedproof.data.suite import Key, Suite
from speedproof.protocols.pair import Rules

# Browsers are driven in development only: environments with other dependencies go without.
collect_ignore = [] if find_spec("selenium") else ["test_browser.py"]

HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</script><script>alert(2)</script>",
    "<!-- <script>", "javascript:alert(1)", "a|b`c``d*e_f_[g](h)", "{{ 7 * 7 }}{% raw %}", "&lt;b&gt; &amp; ]]>",
    "\\textbf{x} 100% $y$ #1 ~^_", "@octocat fixes #12", "=1+1", "tab\tand \u202eturned\u202c ☃ \U0001f40d",
)  # fmt: skip


CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
    "--disable-component-update", "--disable-sync", "--window-size=1280,900",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, which logs all that it says and asks for."""
    if not (CHROMIUM.exists() and DRIVER.exists()):
        pytest.skip("needs chromium and chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
        yield driver
        driver.quit()


Made = tuple[SuiteComparison, Suite]


def make(
    values: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]],
    unit: str = "s",
    versions: tuple[str, str] = ("old", "new"),
) -> Made:
    """Compare two versions given as name -> (x, y)."""
    samples = {}
    for name, pair in values.items():
        for version, v in zip(versions, pair, strict=True):
            array = np.asarray(v, dtype=float)
            samples[Key(name), version] = Sample(
                array, unit, label=version, source=f"{version}.json", traits=frozenset({Trait.ORDER_KNOWN})
            )
    fields: dict[str, dict[str, tuple[str, ...]]] = {
        versions[0]: {"cpu": ("A",), "os": ("L",)},
        versions[1]: {"cpu": ("B",), "os": ("L",)},
    }
    suite = Suite(versions, samples, fields=fields)
    return compare_suite(suite.pair(*versions), versions, "time", Rules(margin=0.02)), suite


@pytest.fixture(scope="session")
def mixed() -> Made:
    """Every verdict, a constant sample, one value, ties, an infinite bound."""
    rng = np.random.default_rng(5)
    near = rng.normal(1.0, 0.002, (2, 40))
    return make({
        "gain": (rng.normal(2.0, 0.01, 40), rng.normal(1.0, 0.01, 40)),
        "loss": (rng.normal(1.0, 0.01, 40), rng.normal(1.5, 0.01, 40)), "same": (near[0], near[1]),
        "open": (rng.normal(1.0, 0.3, 8), rng.normal(1.0, 0.3, 8)), "constant": ([1.0] * 8, [1.0] * 8),
        "one": ([1.0], [2.0]), "wild": (rng.normal(1.0, 0.1, 6), rng.normal(0.1, 0.2, 6).clip(0)),
        "zero": ([0.0] * 6, [0.0] * 6), "tiny": (rng.normal(2e-9, 1e-11, 31), rng.normal(1.9e-9, 1e-11, 31)),
    })  # fmt: skip


@pytest.fixture(scope="session")
def hostile() -> Made:
    """Benchmarks and versions with names that try to break out of every format."""
    rng = np.random.default_rng(6)
    values = {
        name: (rng.normal(2, 0.1, 12), rng.normal(1 + k % 3, 0.1, 12)) for k, name in enumerate(HOSTILE)
    }
    return make(values, versions=("<b>old</b>|\\x", "</title><script>alert(3)</script>"))


@pytest.fixture(scope="session")
def make_suite() -> Callable[..., Made]:
    return make


@pytest.fixture(scope="session")
def thousand(mixed: Made) -> Made:
    """A thousand benchmarks with samples: those of ``mixed`` under new names."""
    result, suite = mixed
    names = [f"group-{i // 50:02}/benchmark-{i:04}" for i in range(1000)]
    own = result.benchmarks
    of = {name: [c for c in result.comparisons if c.benchmark == name] for name in own}
    comparisons = tuple(
        replace(c, benchmark=name) for i, name in enumerate(names) for c in of[own[i % len(own)]]
    )
    samples = {
        (Key(name), version): suite.samples[Key(own[i % len(own)]), version]
        for i, name in enumerate(names)
        for version in suite.versions
    }
    return replace(result, comparisons=comparisons), replace(suite, samples=samples)
