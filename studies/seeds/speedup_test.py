"""Touati, Worms, Briais 2013: the Speedup-Test."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from studies.seeds.row import (
    ROOT,
    Line,
    NotHereError,
    Outcome,
    Result,
    Setting,
    alike,
    number,
    register,
    text_of,
)

from speedproof.data.sample import Sample
from speedproof.data.suite import Key, Record, Suite
from speedproof.formats import ReadOptions, read
from speedproof.protocols.pair import Rules
from speedproof.protocols.questions import ask
from speedproof.protocols.results import Comparison, State
from speedproof.protocols.speedup_test_tool import Entry, report_suite
from speedproof.protocols.suites import overall_gain
from speedproof.stats.estimate import alpha_at
from speedproof.stats.proportions import benchmarks_needed, prop_test, validity_2013

PAPER = "Touati, Worms, Briais 2013"
TOOL = ROOT / "tests" / "data" / "speedup_test_tool"
TEXT_INTERVAL = "C ± r of the text would give another one; the article computed R's prop.test"


@register("2013-examples", PAPER, "examples 1 and 2, intervals of sections 6.1 to 6.3")
def examples(setting: Setting) -> Result:
    """Intervals of proportions, numbers of benchmarks needed, gains of overall speedups."""
    lines = [number("example 1: a - a^2/b for 17 of 30", "7.37", validity_2013(17, 30))]
    for what, a, b, alpha, low, high in (
        ("example 1: 17 of 30 at 90 %", 17, 30, 0.1, "0.4027157", "0.7184049"),
        ("6.1: 34 of 34 at 90 %", 34, 34, 0.1, "0.901", "1"),
        ("6.2: 31 of 45 at 95 %", 31, 45, 0.05, "0.532", "0.814"),
        ("6.3: 41 of 54 at 95 %", 41, 54, 0.05, "0.621", "0.861"),
    ):
        found = prop_test(a, b, alpha)
        lines += [
            number(f"{what}, lower end", low, found.low),
            number(f"{what}, upper end", high, found.high),
        ]
    lines += [
        number("6.2: proportion", "0.689", 31 / 45),
        number("6.3: proportion", "0.759", 41 / 54),
        number("example 2: benchmarks needed, 17 of 30", "378", benchmarks_needed(17, 30, 0.05, 0.05)),
        number("6.2: benchmarks needed, 31 of 45", "330", benchmarks_needed(31, 45, 0.05, 0.05)),
        number("6.3: benchmarks needed, 41 of 54", "281", benchmarks_needed(41, 54, 0.05, 0.05)),
    ]
    for where, speedup, gain in (
        ("6.1", 1.865, "0.464"),
        ("6.2, mean", 1.79, "0.441"),
        ("6.2, median", 1.797, "0.443"),
        ("6.3, mean", 1.162, "0.14"),
        ("6.3, median", 1.158, "0.137"),
    ):
        # The speedup is rounded itself: agreement means that some speedup that rounds to it has this gain.
        gains = [
            overall_gain([s], [1.0], [1.0]).gain
            for s in np.linspace(speedup - 5e-4, speedup + 5e-4, 101).tolist()
        ]
        nearest = min(gains, key=lambda g: abs(g - float(gain)))
        lines.append(number(f"{where}: gain of an overall speedup of {speedup:g}", gain, nearest))
    return Result(tuple(lines), remarks=(f"Of the intervals: {TEXT_INTERVAL}.",))


@register("2013-tool", PAPER, "the tool of 2010 on its kind of configuration")
def tool(setting: Setting) -> Result:
    """Every field that the tool, run under R 4.2.2, wrote for three configurations, against ``--original``."""
    lines = []
    runs = json.loads((TOOL / "expected.json").read_text(encoding="utf-8"))
    for run in runs:
        options = run["options"]
        if any(option not in ("--conf-level", "--weight", "--precision") for option in options[::2]):
            continue
        chosen = dict(zip(options[::2], options[1::2], strict=True))
        entries = _entries(TOOL / run["config"])
        report = report_suite(
            entries,
            Rules(),
            alpha=alpha_at(float(chosen["--conf-level"])) if "--conf-level" in chosen else None,
            weighting=chosen.get("--weight", "custom"),
            precision=float(chosen.get("--precision", 0.05)),
            original=True,
        )
        same = total = 0
        pairs: list[tuple[object, object]]
        for row, expected in zip(report.rows, run["rows"], strict=True):
            pairs = [(round(row.speedups["min"], 3), expected["SpeedupMin"])]
            for finding, name in ((row.mean, "Mean"), (row.median, "Median")):
                level = expected[f"{name}ConfLevel"]
                confidence = None if np.isnan(finding.confidence) else round(finding.confidence, 9)
                pairs += [
                    (
                        round(row.speedups["mean" if name == "Mean" else "median"], 3),
                        expected[f"Speedup{name}"],
                    ),
                    (finding.significant, expected[f"Is{name}Significant"]),
                    (confidence, level),
                ]
            same += sum(ours == theirs for ours, theirs in pairs)
            total += len(pairs)
        outcome = Outcome.AGREES if same == total else Outcome.DIFFERS
        lines.append(
            Line(" ".join([run["config"], *options]), f"{total} fields", f"{same} the same", outcome)
        )
    configurations = [p for p in sorted(setting.data.rglob("*.csv")) if _is_one(p)] if setting.data else []
    for path in configurations:
        report = report_suite(
            _entries(path), Rules(), alpha=0.05, weighting="equal", precision=0.05, original=True
        )
        found = report.accelerated["median"]
        counts = f"{found.accelerated} of {found.benchmarks} accelerated in median at 95 %"
        lines.append(Line(f"{path.name} of --data", "", counts))
    said = (
        "were made for comparison; the ten that came with the tool are read from --data, as its configuration"
    )
    return Result(tuple(lines), remarks=(f"These configurations {said}.",))


def _is_one(path: Path) -> bool:
    """Whether a file is a configuration of the tool."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline().replace('"', "").startswith("Name,Sample1,Sample2")


def _entries(path: Path) -> list[Entry]:
    """The benchmarks of a configuration that can be read."""
    records = list(read(str(path), format="speedup-test", options=ReadOptions()))
    suite = Suite.from_records((r.version or "" if isinstance(r, Record) else "", r) for r in records)
    fields = {r.benchmark: dict(r.fields) for r in records if isinstance(r, Record)}
    entries = []
    for pair in suite.pair("Sample1", "Sample2").pairs:
        own = {k: float(v) for k, v in fields[pair.key.benchmark].items() if v not in ("", "NA")}
        level = own.get("ConfLevel")
        level = level if level is not None and 0 < level < 1 else None
        entries.append(Entry(pair.key.benchmark, pair.reference, pair.candidate, level, own.get("Coef")))
    return entries


@register("2013-table1", PAPER, "table 1 on the authors' measurements of SPEC OMP2001")
def table1(setting: Setting) -> Result:
    """Pairs of the same program, threads and affinity, built by the two compilers: how many speedups are rejected."""
    samples = mazouz(setting)
    compilers = sorted({key[1] for key in samples})
    pairs = [
        (key, samples[key], samples[(key[0], compilers[1], *key[2:])])
        for key in samples
        if key[1] == compilers[0] and (key[0], compilers[1], *key[2:]) in samples
    ]
    lines = []
    for affinity in sorted({key[2] for key in samples}):
        chosen = [(x, y) for key, x, y in pairs if key[2] == affinity]
        for protocol in ("mean", "median"):
            shown = []
            for alpha in (0.05, 0.2, 0.99):
                rules = Rules(alpha=alpha)
                found = [ask(protocol, Sample(x), Sample(y), rules) for x, y in chosen]
                shown.append(sum(comparison.state is not State.SIGNIFICANT for comparison in found))
            lines.append(
                alike(
                    f"{compilers[0]} to {compilers[1]}, affinity {affinity}, {protocol}: speedups rejected at .05, .2, .99",
                    "14, 13, 11 of 54; 6, 5, 5 of the 12 that are public",
                    f"{', '.join(map(str, shown))} of {len(chosen)}",
                    "which pairs the table has is not said: all that differ in the compiler alone are shown",
                )
            )
    return Result(tuple(lines))


def mazouz(setting: Setting) -> dict[tuple[str, str, str, str], np.ndarray]:
    """The authors' measurements by program, compiler, affinity and threads, from the ESEUR repository's CSV."""
    path = setting.file("Mazouz.csv.xz", "Mazouz.csv")
    text = text_of(path)
    values: dict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    for record in csv.DictReader(text.splitlines()):
        key = (record["program"], record["compiler"], record["affinity"], record["threads"])
        values[key].append(float(record["time"]))
    return {key: np.array(times) for key, times in values.items()}


LEVELS = ("O0", "O1", "O3")


@register("2013-gcc", PAPER, "section 6.1 anew: gcc's levels of optimisation, measured here")
def gcc(setting: Setting) -> Result:
    """The programs of ``examples/gcc`` at -O0, -O1 and -O3: eighteen pairs for the article's thirty-four."""
    if shutil.which("gcc") is None:
        raise NotHereError("gcc is not installed")
    times = measured(setting, setting.size(5, 31))
    programs = sorted({program for program, _ in times})
    means: list[Comparison] = []
    medians: list[Comparison] = []
    before, after = [], []
    for program in programs:
        for slow, fast in (("O0", "O1"), ("O1", "O3"), ("O0", "O3")):
            x, y = (Sample(times[program, level], label=level) for level in (slow, fast))
            key = Key(f"{program}, {slow} to {fast}")
            means.append(ask("mean", x, y, Rules(alpha=0.1), key))
            medians.append(ask("median", x, y, Rules(alpha=0.1), key))
            before.append(float(x.values.mean()))
            after.append(float(y.values.mean()))
    lines = []
    for name, found in (("mean", means), ("median", medians)):
        a = sum(comparison.state is State.SIGNIFICANT for comparison in found)
        interval = prop_test(a, len(found), 0.1)
        lines.append(
            alike(
                f"accelerated in {name}, at 90 %",
                "34 of 34 [.901, 1]",
                f"{a} of {len(found)} [{interval.low:.3f}, {interval.high:.3f}]",
                f"{len(programs)} small programs, {times[programs[0], 'O0'].size} runs each, gcc of this machine",
            )
        )
    overall = overall_gain(before, after, [1.0] * len(before))
    lines.append(alike("overall speedup in mean", "1.865", f"{overall.speedup:.3f}"))
    from speedproof.plot import forest, forest_size
    from speedproof.plot.canvas import new_figure

    ax = new_figure(*forest_size(len(medians))).add_subplot()
    figure = setting.figure("2013-gcc", "Speedups between gcc's levels, by median", forest(medians, ax=ax))
    return Result(tuple(lines), (figure,))


def measured(
    setting: Setting, runs: int, levels: Sequence[str] = LEVELS
) -> dict[tuple[str, str], np.ndarray]:
    """Times of every program at every level, interleaved in random order."""
    sources = sorted((ROOT / "examples" / "gcc" / "src").glob("*.c"))
    rng = np.random.default_rng(13)
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        binaries = {}
        for source in sources:
            for level in levels:
                binary = Path(folder) / f"{source.stem}-{level}"
                command = ["gcc", f"-{level}", "-o", str(binary), str(source), "-lm"]
                subprocess.run(command, check=True, capture_output=True)
                binaries[source.stem, level] = str(binary)
        keys = list(binaries)
        for run in range(runs + 1):  # the first warms the caches
            for k in rng.permutation(len(keys)).tolist():
                start = time.perf_counter()
                subprocess.run([binaries[keys[k]]], check=True, stdout=subprocess.DEVNULL)
                if run:
                    times[keys[k]].append(time.perf_counter() - start)
            setting.progress(run / runs)
    return {key: np.array(values) for key, values in times.items()}
