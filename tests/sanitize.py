"""Run the tests of the compiled kernels on builds with the address and undefined-behaviour sanitisers.

``make sanitize`` builds them and calls ``python tests/sanitize.py FOLDER`` with the sanitisers preloaded; inputs
that do not fit together are thrown at them, too.
"""

import sys
from contextlib import suppress
from importlib.abc import Loader
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import astuple

TESTS = [
    "tests/formats/test_go_text.py",
    "tests/measuring/test_execute.py",
    "tests/mixture/test_em.py",
    "tests/mixture/test_large_samples.py",
    "tests/mixture/test_search.py",
]
TESTS += [
    "tests/stats/test_change_points.py",
    "tests/stats/test_levels.py",
    "tests/stats/test_permutation.py",
]
# What the kernels' memory sees; simulations call them no differently, and programs have the sanitisers, too.
SIMULATED = (
    "numpy or random_starts or others or test_change_points or test_levels or known_allocation or SEGV"
)
TESTS += ["-k", f"kernel or every_way or not ({SIMULATED})"]


def load(name: str, folder: Path) -> Any:
    """The extension in a folder, in the place of the installed one."""
    loader: Loader = ExtensionFileLoader(name, str(folder / f"{name.rpartition('.')[2]}.abi3.so"))
    spec = spec_from_loader(name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[name] = module
    return module


def hostile(module: Any) -> int:
    """Shapes, indices and numbers that do not fit together; returns how many were refused."""
    from speedproof.mixture.em import REPLICATE

    rng = np.random.default_rng(1)
    rules = astuple(REPLICATE)
    refused = 0
    for _ in range(3000):
        rows, n, K = (int(v) for v in rng.integers(-1, 6, 3))
        sizes = rng.integers(0, 60, 8)
        starts = rng.integers(-9, 99, int(sizes[1])).astype(np.int32)
        kernel, special = int(rng.integers(-1, 4)), rng.choice([0.0, np.nan, np.inf, -1e308], int(sizes[0]))
        floats, ints = [np.full(size, -1.0) for size in sizes], np.empty(sizes[4], np.int32)
        search = (
            special, starts, *floats[2:4], ints, ints, rows, n, K, rules, int(sizes[6]) % 2, 0, 0, kernel,
        )  # fmt: skip
        climb = (special, floats[2], starts, floats[3], ints, rows, int(sizes[7]) % 4, n, K, rules, kernel)
        ks = (special, floats[2], starts, floats[3], rows, n, K)
        points = rng.choice([0.0, 1.0, 2.0, np.nan, np.inf, -1e308], size=9)
        many, few = (int(v) for v in rng.integers(0, 10, 2))
        few *= n % 2  # quantiles beside cells
        wide = max(K, 1)
        cells = np.empty(2 * wide), np.empty(6 * wide * wide), np.empty(2 * wide, np.int32)
        table = (points[:many], points[:few], *cells, n + 4, K, 10.0**-rows, special[:1].sum(), n % 2, kernel)
        for call, arguments in (
            (module.search, search), (module.climb, climb), (module.ks, ks), (module.table, table),
        ):  # fmt: skip
            try:
                call(*arguments)
            except ValueError:
                refused += 1
    x = np.sort(rng.normal(size=20))
    for places in ([[99, 7]], [[-5, -5]], [[0, 1]]):
        module.climb(
            x, np.full((1, 3, 2), np.nan), np.array(places, np.int32), np.empty(1), np.empty(1, np.int32),
            1, 20, 20, 2, rules, len(module.kernels()) - 1,
        )  # fmt: skip
    return refused


def damaged(module: Any) -> None:
    """Result lines and lists with bytes changed, cut anywhere and from anywhere."""
    rng = np.random.default_rng(2)
    line = (
        "BenchmarkA/\u65e5\u00a0-8 \t10\t 12.5e-3 ns/op 1 \u00b5s/op +123456789012345678e9 x\r\n".encode() * 5
    )
    for _ in range(20_000):
        text = np.frombuffer(line, np.uint8)[: rng.integers(len(line))].copy()
        places = rng.integers(0, max(text.size, 1), min(int(rng.integers(4)), text.size))
        text[places] = rng.choice([0, 9, 10, 32, 43, 46, 48, 69, 0x80, 0xC2, 0xE2, 0xE3, 0xFF], places.size)
        with suppress(UnicodeDecodeError):
            module.results(text.tobytes(), int(rng.integers(text.size + 1)))
    lists = np.frombuffer(b"[[1.5,\n -2e-3, 12345678901234567.5e-9], [] , [0.25, 1e400]]", np.uint8)
    for _ in range(20_000):
        text = lists[: rng.integers(lists.size + 1)].copy()
        places = rng.integers(0, max(text.size, 1), min(int(rng.integers(4)), text.size))
        text[places] = rng.choice([0, 32, 44, 45, 46, 48, 69, 91, 93], places.size)
        module.lists(text.tobytes())


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))  # of the studies
    place = Path(sys.argv[1]).resolve()
    damaged(load("speedproof.formats._go", place))
    load("speedproof.measuring._start", place)
    load("speedproof.stats._levels", place)
    load("speedproof.stats._merging", place)
    load("speedproof.stats._scores", place)
    compiled = load("speedproof.mixture._em", place)
    print(f"{hostile(compiled)} of 12000 hostile calls were refused", flush=True)  # noqa: T201
    sys.exit(pytest.main(["-q", "-x", "-W", "ignore::pytest.PytestAssertRewriteWarning", *TESTS]))
