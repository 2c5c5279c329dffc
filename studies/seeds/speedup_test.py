"""Touati, Worms, Briais 2013: the Speedup-Test."""

from __future__ import annotations

import csv
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from studies.seeds.row import ROOT, Found, NotHereError, Setting, over_roundings, register, text_of

from speedproof.data.sample import Sample
from speedproof.data.suite import Key
from speedproof.protocols.aggregates import accelerated, overall_gain
from speedproof.protocols.pair import Rules
from speedproof.protocols.questions import ask
from speedproof.protocols.results import Comparison, State
from speedproof.stats.multiplicity import benchmarks_needed, prop_test
from speedproof.stats.special import normal_quantile

__all__ = [  # the calls of the lines
    "accelerated", "benchmarks_needed", "gain_of", "normal_quantile", "over_roundings", "prop_test",
]  # fmt: skip

PAPER = "Touati, Worms, Briais 2013"


@register("2013-examples", PAPER, "examples 1 and 2, intervals and gains of sections 6.1 to 6.3")
def examples(setting: Setting) -> Found:
    """Intervals of proportions, numbers of benchmarks needed, gains of overall speedups."""
    return Found(remarks=("The text's C ± r is another interval: the article computed R's prop.test.",))


def gain_of(speedup: float) -> float:
    """The overall gain of an overall speedup."""
    return overall_gain([speedup], [1.0], [1.0]).gain


@register("2013-table1", PAPER, "table 1 and the rejected speedups of section 6.3")
def table1(setting: Setting) -> Found:
    """What is public of the 54 pairs of 6.3: a program and threads of SPEC OMP2001 without affinity, by two compilers."""
    try:
        samples = mazouz(setting)
    except NotHereError:
        return Found()
    pairs = [
        (Sample(x), Sample(samples[program, "icc", affinity, threads]))
        for (program, compiler, affinity, threads), x in samples.items()
        if compiler == "gcc" and affinity == "no affinity"
    ]
    counts = []
    for protocol in ("mean", "median"):
        rejected = []
        for alpha in (0.05, 0.2, 0.99):
            found = [ask(protocol, x, y, Rules(alpha=alpha)) for x, y in pairs]
            rejected.append(sum(one.state is not State.SIGNIFICANT for one in found))
        counts.append(f"{', '.join(map(str, rejected))} in {protocol}")
    text = f"Of {len(pairs)} public pairs without affinity, gcc to icc, rejected at risk .05, .2, .99: {'; '.join(counts)}."
    return Found(remarks=(text,))


def mazouz(setting: Setting) -> dict[tuple[str, str, str, str], np.ndarray]:
    """The authors' measurements by program, compiler, affinity and threads, from the ESEUR repository's CSV."""
    text = text_of(setting.file("Mazouz.csv.xz", "Mazouz.csv"))
    values: dict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    for record in csv.DictReader(text.splitlines()):
        key = (record["program"], record["compiler"], record["affinity"], record["threads"])
        values[key].append(float(record["time"]))
    return {key: np.array(times) for key, times in values.items()}


@register("2013-gcc", PAPER, "section 6.1 anew: gcc's levels of optimisation, measured here")
def gcc(setting: Setting) -> Found:
    """The programs of ``examples/gcc`` at -O0, -O1 and -O3: eighteen pairs for the article's thirty-four."""
    from speedproof.plot import forest, forest_size
    from speedproof.plot.canvas import new_figure

    times = measured(setting, setting.size(5, 31), ("O0", "O1", "O3"))
    counts: list[str] = []
    medians: list[Comparison] = []
    for protocol in ("mean", "median"):
        medians = []
        for program in sorted({program for program, _ in times}):
            for slow, fast in (("O0", "O1"), ("O1", "O3"), ("O0", "O3")):
                x, y = (Sample(times[program, level], label=level) for level in (slow, fast))
                medians.append(ask(protocol, x, y, Rules(alpha=0.1), Key(f"{program}, {slow} to {fast}")))
        a = sum(comparison.state is State.SIGNIFICANT for comparison in medians)
        interval = prop_test(a, len(medians), 0.1)
        counts.append(f"{a} of {len(medians)} [{interval.low:.3f}, {interval.high:.3f}] in {protocol}")
    ax = new_figure(*forest_size(len(medians))).add_subplot()
    figure = setting.figure("2013-gcc", "Speedups between gcc's levels, by median", forest(medians, ax=ax))
    return Found({}, (figure,), (f"On this machine: accelerated at 90 % {'; '.join(counts)}.",))


def measured(setting: Setting, runs: int, levels: Sequence[str]) -> dict[tuple[str, str], np.ndarray]:
    """Times of every program at every level, interleaved in random order."""
    if shutil.which("gcc") is None:
        raise NotHereError("gcc is not installed")
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
