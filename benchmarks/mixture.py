"""Fit and bootstrap against R's mclust, in one run: ``python benchmarks/mixture.py [--replicates N] [--no-r]``.

Both sides draw from the same mixture of three components, fit K = 1..9 with E and V, and take the distance.
A ratio is mclust's seconds of CPU over ours, the shortest of several; mclust's bootstrap is timed on N replicates
and scaled to 200. ``python -m benchmarks.mixture --large SAMPLES`` fits so many of 3,000 and of 15,000 values
instead, most of long tails or flat (``studies/mixture_best_fits.py``), and compares BIC, too.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from speedproof.mixture import em
from speedproof.mixture.fitting import fit
from speedproof.mixture.goodness import goodness_of_fit
from speedproof.mixture.model import MixtureModel

MODEL = MixtureModel([0.35, 0.4, 0.25], [0.0, 4.0, 9.0], [1.0, 1.0, 1.0])


def best_of(times: int, work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Shortest of several times, in seconds."""
    seconds = []
    for _ in range(times):
        start = clock()
        work()
        seconds.append(clock() - start)
    return min(seconds)


def mclust(n: int, replicates: int) -> tuple[float, float]:
    """Seconds of one fit and of 200 replicates with R."""
    script = str(Path(__file__).with_name("mclust.R"))
    done = subprocess.run(
        ["Rscript", script, str(n), str(replicates), "1"], capture_output=True, text=True, check=True
    )
    one, many = map(float, done.stdout.split())
    return one, many * 200 / replicates


def large(samples: int) -> None:
    """A row for each size, without and with ``--fast``, of so many samples."""
    from studies.mixture_best_fits import large_samples  # in a clone, beside this folder

    print("| values | | a fit, ms | mclust's time over ours | BIC less mclust's: least | median | largest |")
    print("|---|---|---|---|---|---|---|")
    for n in (3000, 15_000):
        data = list(large_samples(samples, 5, (n,)))
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            np.savetxt(file, data, fmt="%.17g")
            file.flush()
            script = str(Path(__file__).with_name("mclust.R"))
            done = subprocess.run(["Rscript", script, file.name], capture_output=True, text=True, check=True)
        seconds, bics = np.array(done.stdout.split(), dtype=float).reshape(-1, 2).T
        for fast in (False, True):
            ours = [best_of(2, partial(fit, x, fast=fast), time.process_time) for x in data]
            more = np.array([fit(x, fast=fast).bic for x in data]) - bics
            name, ratio = "--fast" if fast else "", seconds.sum() / sum(ours)
            print(
                f"| {n} | {name} | {1e3 * np.mean(ours):.1f} | {ratio:.0f} "
                f"| {more.min():.2f} | {np.median(more):.1f} | {more.max():.0f} |",
                flush=True,
            )


def corpus(samples: int, jobs: int) -> float:
    """Seconds for samples of 30 to 1000 values (mean about 100), 200 bootstraps each."""
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(2)
    sizes = np.clip(rng.lognormal(4.35, 0.75, samples).astype(int), 30, 1000)
    data = [MODEL.rvs(int(n), i) for i, n in enumerate(sizes)]
    start = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda x: goodness_of_fit(x, fit(x), c=1.0).pvalue, data))
    seconds = time.perf_counter() - start
    print(f"corpus: {samples} samples, mean size {sizes.mean():.0f}, {jobs} threads: {seconds:.1f} s")
    return seconds


def fresh_process() -> float:
    """Seconds to a first p-value in a new interpreter, import included."""
    code = (
        "import numpy as np; from speedproof.mixture.fitting import fit; "
        "from speedproof.mixture.goodness import goodness_of_fit; "
        "x = np.random.default_rng(1).normal(size=100); goodness_of_fit(x, fit(x))"
    )
    return best_of(5, lambda: subprocess.run([sys.executable, "-c", code], check=True))


def main() -> None:
    """Print one line for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=20, help="of mclust (default: 20)")
    parser.add_argument("--no-r", action="store_true", help="time our side only")
    parser.add_argument("--large", type=int, default=0, metavar="SAMPLES", help="large samples instead")
    parser.add_argument("--corpus", type=int, default=0, metavar="SAMPLES", help="also time a corpus")
    options = parser.parse_args()
    if options.large:
        large(options.large)
        return
    without_r = options.no_r or shutil.which("Rscript") is None
    if without_r and not options.no_r:
        print("Rscript is not here (Debian: r-base-core, r-cran-mclust): our side only")
    print("kernels:", ", ".join(name for name in em.kernel_names() if name) or "numpy only")
    print("     n  fit [ms]  ratio  bootstrap [ms]  ratio  2 threads  --fast [ms]  ratio   single - fast p")
    for n in (30, 100, 300, 1000):
        x = MODEL.rvs(n, 1)
        f = fit(x)
        test = partial(goodness_of_fit, x, f, c=1.0)
        one = best_of(50, partial(fit, x), time.process_time)
        full, fast = (best_of(5, partial(test, fast=quick), time.process_time) for quick in (False, True))
        speedup = best_of(5, test) / best_of(5, partial(test, jobs=2))
        shift = goodness_of_fit(x, f, c=1.0).pvalue - goodness_of_fit(x, f, c=1.0, fast=True).pvalue
        r_one, r_full = (np.nan, np.nan) if without_r else mclust(n, options.replicates)
        print(
            f"{n:6d} {1e3 * one:9.2f} {r_one / one:6.0f} {1e3 * full:15.1f} {r_full / full:6.0f} "
            f"{speedup:10.2f} {1e3 * fast:12.1f} {r_full / fast:6.0f} {shift:17.3f}",
            flush=True,
        )
    print(f"first p-value of a fresh process: {fresh_process():.2f} s")
    if options.corpus:
        corpus(options.corpus, 2)


if __name__ == "__main__":
    main()
