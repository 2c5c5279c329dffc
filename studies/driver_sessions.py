"""Real sessions of a tool's benchmarks against themselves: how often ``run --driver`` says "faster" or "slower".

A program of the tool's own, with several short benchmarks, is both sides. Each session is the command itself,
looked at after every block; benchmarks end at their first proof, at a risk of 5 % in each direction. What its
benchmarks say is not independent, since they share invocations, but each says "faster" in at most 5 %.

    python studies/driver_sessions.py TOOL [SESSIONS] [FIRST SEED]

Wants the tool installed: pyperf and pytest-benchmark for the Python that runs this, libbenchmark-dev,
librust-criterion-dev and cargo, hyperfine, Go. JMH is not to be had as a package: a stand-in speaks its options.
"""

from __future__ import annotations

import collections
import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from speedproof.cli.console import Console
from speedproof.cli.main import main as speedproof

PYTHON = shlex.quote(os.environ.get("TOOL_PYTHON", sys.executable))


def go() -> str:
    """Twenty benchmarks in a compiled test."""
    functions = "".join(
        f"func BenchmarkB{i}(b *testing.B) {{ work(b, {100 + 20 * i}) }}\n" for i in range(20)
    )
    Path("go.mod").write_text("module a\ngo 1.19\n")
    Path("b_test.go").write_text(
        'package a\nimport "testing"\nvar kept int\nfunc work(b *testing.B, n int) {\n'
        "for i := 0; i < b.N; i++ { s := 0; for j := 0; j < n; j++ { s += j * s ^ j }; kept = s } }\n"
        + functions
    )
    subprocess.run(["go", "test", "-c", "-o", "b.test"], check=True, stderr=subprocess.DEVNULL)
    return "./b.test -test.bench=. -test.benchtime=1ms"


def google_benchmark() -> str:
    """Twenty benchmarks."""
    Path("b.cc").write_text(
        "#include <benchmark/benchmark.h>\nstatic void B(benchmark::State& s) { for (auto _ : s) { long t = 0;\n"
        "for (long j = 0; j < s.range(0); j++) benchmark::DoNotOptimize(t += j * t ^ j); } }\n"
        "BENCHMARK(B)->DenseRange(100, 480, 20);\nBENCHMARK_MAIN();\n"
    )
    subprocess.run(["g++", "-O1", "b.cc", "-o", "b", "-lbenchmark", "-lpthread"], check=True)
    return "./b --benchmark_min_time=0.001"


def hyperfine() -> str:
    """Ten commands, three runs each."""
    return "hyperfine -N --warmup 0 --runs 3 " + " ".join(f"'true {i}'" for i in range(10))


def pytest_benchmark() -> str:
    """Forty benchmarks."""
    Path("b.py").write_text(
        "import pytest\n@pytest.mark.parametrize('n', range(40))\n"
        "def test_b(benchmark, n): benchmark(lambda: sum(range(200 + 10 * n)))\n"
    )
    given = "--benchmark-max-time=0.001 --benchmark-min-rounds=5 --benchmark-calibration-precision=5"
    return f"{PYTHON} -m pytest -q -p no:cacheprovider {given} b.py"


def pyperf() -> str:
    """Twelve benchmarks, each in a process of its own."""
    Path("b.py").write_text(
        "import pyperf\nr = pyperf.Runner()\n"
        "for n in range(12): r.bench_func(f'b{n}', sum, range(200 + 20 * n), inner_loops=1)\n"
    )
    return f"{PYTHON} b.py --processes 1 --values 3 --warmups 1 --loops 200"


def criterion() -> str:
    """Eight benchmarks; Debian has its crates."""
    for folder in ("src", "benches", ".cargo"):
        Path(folder).mkdir(exist_ok=True)
    Path(".cargo/config").write_text(
        '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "/usr/share/cargo/registry"\n'
    )
    Path("Cargo.toml").write_text(
        '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n[dev-dependencies]\n'
        'criterion = { version = "0.3", default-features = false }\n[[bench]]\nname = "b"\nharness = false\n'
    )
    Path("src/lib.rs").write_text(
        "pub fn work(n: u64) -> u64 { (0..n).fold(0, |s, j| s ^ j.wrapping_mul(s)) }\n"
    )
    Path("benches/b.rs").write_text(
        'use criterion::*;\nfn all(c: &mut Criterion) { for i in 0..8u64 { c.bench_function(&format!("b{}", i),\n'
        "|b| b.iter(|| demo::work(black_box(1000 + 100 * i)))); } }\n"
        "criterion_group! { name = benches; config = Criterion::default().sample_size(10)\n"
        ".warm_up_time(std::time::Duration::from_millis(5)).nresamples(1001).without_plots()\n"
        ".measurement_time(std::time::Duration::from_millis(10)); targets = all }\ncriterion_main!(benches);\n"
    )
    built = subprocess.run(
        ["cargo", "bench", "--offline", "--no-run", "--message-format=json"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    made = [json.loads(line) for line in built.splitlines()]
    (program,) = [m["executable"] for m in made if m.get("target", {}).get("kind") == ["bench"]]
    return f"{program} --bench"


def jmh() -> str:
    """Ten benchmarks of a stand-in: it times them itself, and writes as JMH does."""
    Path("b.py").write_text(
        "import json, sys, time\nwords = sys.argv[1:]\nfound = []\nfor n in range(10):\n"
        "    times = []\n    for _ in range(5):\n        begun = time.perf_counter_ns()\n"
        "        for _ in range(20): sum(range(200 + 20 * n))\n"
        "        times.append((time.perf_counter_ns() - begun) / 20e3)\n"
        "    found.append({'jmhVersion': '1.37', 'benchmark': 'p.B.a', 'mode': 'avgt', 'params': {'n': str(n)},\n"
        "        'primaryMetric': {'scoreUnit': 'us/op', 'rawData': [times]}})\n"
        "json.dump(found, open(words[words.index('-rff') + 1], 'w'))\n"
    )
    return f"{PYTHON} -SE b.py"


TOOLS: dict[str, tuple[Callable[[], str], int]] = {
    "go": (go, 30),
    "google-benchmark": (google_benchmark, 30),
    "hyperfine": (hyperfine, 30),
    "pytest-benchmark": (pytest_benchmark, 15),
    "pyperf": (pyperf, 15),
    "criterion": (criterion, 15),
    "jmh": (jmh, 30),
}
"""What makes the command, and the blocks of a session at most."""


def verdicts(tool: str, command: str, blocks: int, seed: int) -> list[str]:
    """What one session says of each benchmark."""
    out = io.StringIO()
    code = speedproof(
        ["run", "--driver", tool, command, command, "--name", "one", "--name", "other", "--stop-at-proof",
         "--max-runs", str(blocks), "--max-time", "600", "--seed", str(seed), "--save", f"{seed}.jsonl", "--json"],
        Console(out, io.StringIO()),
    )  # fmt: skip
    assert code == 0
    Path(f"{seed}.jsonl").unlink()
    (result,) = json.loads(out.getvalue())["results"]
    return [str(c["verdict"]) for c in result["comparisons"] if c["protocol"] == "typical"]


def main(tool: str, sessions: int, first: int) -> None:
    """Print the row of a tool."""
    make, blocks = TOOLS[tool]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        command = make()
        found: collections.Counter[str] = collections.Counter()
        for seed in range(first, first + sessions):
            found.update(verdicts(tool, command, blocks, seed))
    counts = " | ".join(str(found[v]) for v in ("faster", "slower", "undecided"))
    print(f"| {tool} | {sessions} | {found.total()} | {counts} |", flush=True)


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[2:]]
    main(sys.argv[1], *(given + [20, 0][len(given) :]))
