"""Other tools' benchmarks: how each is asked for a file that can be read, and for some of its benchmarks only.

An invocation of the tool is one run; what it measured inside is nested in it, so its median stands for it. The
table knows words only: what a tool wrote is read by the format of the same name.

Python functions are versions, too: called in a loop that is long enough for the clock, in this process.
"""

from __future__ import annotations

import gc
import math
import re
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import isasyncgen, iscoroutine, isgenerator
from itertools import repeat
from pathlib import Path
from time import monotonic, perf_counter

from msgspec import Struct, field
from msgspec.structs import replace

from speedproof.data.session_file import PlannedBenchmark, PlannedVersion
from speedproof.errors import FormatError, UsageError
from speedproof.measuring.execute import Run, RunError
from speedproof.measuring.executor import CommandExecutor
from speedproof.measuring.runs import Executor

Words = list[str]


class Driver(Struct, frozen=True):
    """A tool."""

    # From the user's words and the place for results to words that also write them there
    ask: Callable[[Words, str], Words]
    # From those words, the wanted benchmarks and the others to words that measure as few of the others as the
    # tool can leave out
    narrow: Callable[[Words, Sequence[str], Sequence[str]], Words]
    printed: bool = False  # whether the results are what it prints
    # From the place for results to variables that name it
    env: Callable[[str], dict[str, str]] = field(default=lambda place: {})


# What every dialect lets be escaped: POSIX's and Rust's refuse blanks and colons, POSIX's closing brackets, too.
_SPECIAL = re.compile(r"[.\[\\()*+?{|^$]")
_ESCAPED = r"\\\g<0>"


def _any_of(names: Collection[str]) -> str:
    """A regular expression for any of these names, valid in every dialect."""
    return f"^({'|'.join(_SPECIAL.sub(_ESCAPED, name) for name in names)})$"


def _without(words: Words, wanted: Sequence[str], others: Sequence[str]) -> Words:
    """What hyperfine measures are the commands that it is given; which has which name, it alone knows."""
    named = any(word.startswith(("-n", "--command-name")) for word in words)
    return words if named else [word for word in words if word not in others]


def _deselect(words: Words, wanted: Sequence[str], others: Sequence[str]) -> Words:
    """What begins with a name is deselected, too, so one that others begin with stays."""
    gone = [name for name in others if not any(other.startswith(name) for other in wanted)]
    return [*words, *(f"--deselect={name}" for name in gone)]


def _go_option(words: Words) -> str:
    return "-bench" if words[1:2] == ["test"] else "-test.bench"


def _ask_go(words: Words, place: str) -> Words:
    option = _go_option(words)
    given = any(word.lstrip("-").partition("=")[0] == option[1:] for word in words)
    return words if given else [*words, f"{option}=.", option.replace("bench", "run") + "=^$"]


def _go_filter(words: Words, wanted: Sequence[str], others: Sequence[str]) -> Words:
    """An expression a level; no deeper than the shallowest name, which a deeper one would leave out."""
    bare = [re.sub(r"^.*\.(?=[A-Z_]\w*(/|$))", "", name) for name in wanted]
    # The processor count follows a name unless it is 1; then a number is part of the name.
    bare += [name for of in bare if (name := re.sub(r"-\d+$", "", of)) != of]
    levels = [f"Benchmark{name}".split("/") for name in bare]
    depth = min(map(len, levels))
    parts = (_any_of(dict.fromkeys(level[i] for level in levels)) for i in range(depth))
    return [*words, f"{_go_option(words)}={'/'.join(parts)}"]


def _ask_pyperf(words: Words, place: str) -> Words:
    """After a subcommand, whose own words may be a program and its options."""
    named = [i for i, word in enumerate(words) if word in ("timeit", "command") and "pyperf" in words[:i]]
    at = named[0] + 1 if named else len(words)
    return [*words[:at], "-o", place, *words[at:]]


def _jmh_excludes(words: Words, wanted: Sequence[str], others: Sequence[str]) -> Words:
    """Methods of which no set of parameters is wanted."""
    kept = {name.partition(":")[0] for name in wanted}
    gone = {name.partition(":")[0] for name in others} - kept
    return [*words, "-e", _any_of(sorted(gone))] if gone else words


def _criterion_filter(words: Words, wanted: Sequence[str], others: Sequence[str]) -> Words:
    dashes = ["--"] if words[1:2] == ["bench"] and "--" not in words else []
    return [*words, *dashes, _any_of(wanted)]


DRIVERS = {
    "criterion": Driver(
        lambda words, place: words, _criterion_filter, env=lambda place: {"CRITERION_HOME": place}
    ),
    "go": Driver(_ask_go, _go_filter, printed=True),
    "google-benchmark": Driver(
        lambda words, place: [*words, f"--benchmark_out={place}", "--benchmark_out_format=json"],
        lambda words, wanted, others: [*words, f"--benchmark_filter={_any_of(wanted)}"],
    ),
    "hyperfine": Driver(lambda words, place: [*words, "--export-json", place], _without),
    "jmh": Driver(lambda words, place: [*words, "-rf", "json", "-rff", place], _jmh_excludes),
    "pyperf": Driver(_ask_pyperf, lambda words, wanted, others: words),
    "pytest-benchmark": Driver(lambda words, place: [*words, f"--benchmark-json={place}"], _deselect),
}
"""Drivers by the name of the format they write."""


_NO_PLUGIN = re.compile(rb"unrecognized arguments:.* --benchmark-")


class ToolExecutor(Executor, Struct):
    """Runs a tool, and takes from its file one value for each of its benchmarks."""

    together = True

    driver: str  # which tool
    executor: CommandExecutor  # starts it
    folder: Path  # for its files; none outlives its run
    read: Callable[[Path], Mapping[str, float]]  # from a file to the median seconds of each benchmark in it
    # By version, what it calls a benchmark that has another name in the session
    aliases: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    _seen: dict[str, list[str]] = field(default_factory=dict)
    _whole: bool = False

    def begin(self, version: PlannedVersion) -> None:
        """Carry out the setup command."""
        self.executor.begin(version)

    def finish(self, version: PlannedVersion) -> None:
        """Carry out the cleanup command."""
        self.executor.finish(version)

    def explain(self, run: Run, metric: str) -> str:
        """Why a benchmark has no value."""
        return "the tool measured it in another run, and not in this one"

    def discover(self, version: PlannedVersion) -> dict[str, float]:
        """Run the tool once for what its benchmarks are."""
        run, times = self._invoke(version, ())
        if self.driver == "pytest-benchmark" and _NO_PLUGIN.search(run.stderr):
            raise RunError(
                f"{version.text!r}: pytest-benchmark is not installed for its Python; pip install pytest-benchmark"
            )
        if run.failed:
            raise RunError(f"{version.text!r} {run.describe_failure()}")
        if not times:
            how = "printed" if DRIVERS[self.driver].printed else "wrote"
            raise RunError(
                f"{version.text!r} {how} nothing in which the reader of {self.driver} finds a time; is it "
                f"{self.driver} that this starts?"
            )
        return times

    def measure_all(
        self, version: PlannedVersion, wanted: Sequence[str], asked: Sequence[str]
    ) -> dict[str, Run]:
        """Run the tool once for what is asked for; all of it from then on where its filter loses some."""
        aliases = self.aliases.get(version.name, {})
        seen = set(self._seen.get(version.name, ()))
        names = [called for name in asked if (called := aliases.get(name, name)) in seen]
        run, times = self._invoke(version, () if self._whole else names)
        if not (run.failed or self._whole or times.keys() >= set(names)):
            self._whole = True
            run, times = self._invoke(version, ())
        of = {name: aliases.get(name, name) for name in wanted}
        return {
            name: replace(run, metrics={"time": times[called]} if called in times else {})
            for name, called in of.items()
        }

    def _invoke(self, version: PlannedVersion, wanted: Sequence[str]) -> tuple[Run, dict[str, float]]:
        place = self.folder / "results"
        tool = DRIVERS[self.driver]
        # A filter for everything is left out: the tool's default selection may be larger.
        seen = self._seen.get(version.name, [])
        others = [name for name in seen if name not in wanted]
        words = tool.ask(list(version.command), str(place))
        if wanted and others:
            words = tool.narrow(words, wanted, others)
        env = {**version.env, **tool.env(str(place))}
        executor = replace(self.executor, capture=self.executor.capture or tool.printed)
        run = executor.measure(PlannedVersion(
            version.name, tuple(words), version.text, env, version.cwd,
            prepare=version.prepare, conclude=version.conclude,
        ))  # fmt: skip
        try:
            if tool.printed and not run.failed and run.stdout.strip():
                place.write_bytes(run.stdout)
            results = dict(self.read(place)) if place.exists() and not run.failed else {}
        except FormatError as error:
            raise RunError(
                f"{version.text!r} wrote results that cannot be read: {error.message}; {run.describe_output()}"
            ) from None
        finally:
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)
        if not wanted:
            self._seen[version.name] = list(results)
        return run, results


# What benchmarks are called of which each side has one, under another name.
_ALONE = "command"


def planned(
    versions: Sequence[PlannedVersion], times: Mapping[str, Mapping[str, float]]
) -> tuple[tuple[PlannedBenchmark, ...], dict[str, dict[str, str]], dict[str, tuple[str, ...]]]:
    """The benchmarks that the reference and some candidate have, what a side calls them, and who lacks which.

    Without a candidate, all of the reference.
    """
    first, *others = versions
    base = list(times[first.name])
    aliases: dict[str, dict[str, str]] = {}
    alone = all(len(times[v.name]) == 1 for v in versions)
    if alone and len({name for v in versions for name in times[v.name]}) > 1:
        # One benchmark a side: commands that differ are what is compared, whatever they are called.
        aliases = {v.name: {_ALONE: next(iter(times[v.name]))} for v in versions}
        base = [_ALONE]
    plan, absent = [], {}
    for name in base:
        sides = [v for v in others if aliases.get(v.name, {}).get(name, name) in times[v.name]]
        if lacking := tuple(v.name for v in others if v not in sides):
            absent[name] = lacking
        if sides or not others:
            plan.append(PlannedBenchmark(name, (first, *sides)))
    if not aliases:
        absent |= {n: (first.name,) for v in others for n in times[v.name] if n not in base}
    if not plan:
        problems = "; ".join(
            absent_from(name, versions, first.name) for name, versions in list(absent.items())[:6]
        )
        raise UsageError(f"{first.name} and the others have no benchmark in common: {problems}")
    return tuple(plan), aliases, absent


def absent_from(benchmark: str, versions: Sequence[str], reference: str) -> str:
    """A message that these versions lack a benchmark."""
    return f"{benchmark}: not in {', '.join(versions)}{', the reference' if reference in versions else ''}"


_ROUNDING = 1e-6
_SLOW = 100  # times the shortest run: what interrupts is hardly ever as long
_ROUNDS = 8
_STILL_SECONDS = 1.0  # of a run that a clock must have seen
_ALIKE = 4.0  # functions whose costs differ by less have the same number of calls


@contextmanager
def _garbage_rests() -> Iterator[None]:
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _once(function: Callable[[], object], calls: int, clock: Callable[[], float]) -> float:
    """Seconds that so many calls take, with the loop's own work, which is the same a call for all."""
    counter = repeat(None, calls)
    with _garbage_rests():
        start = clock()
        for _ in counter:
            function()
        return clock() - start


def calls_needed(
    functions: Mapping[str, Callable[[], object]],
    *,
    least: float = 1e-3,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, int]:
    """Find how many calls of each function make one run.

    What interrupts a program meets a longer run more often, so functions that do not differ several times have
    the same number, and the cost of each is its least in several tries, made in turns: one that was interrupted
    would be called too seldom.
    """
    costs = {name: _cost(name, function, least, clock) for name, function in functions.items()}
    for _ in range(_ROUNDS):
        for name, function in functions.items():
            if costs[name] < _SLOW * least:
                n = math.ceil(least / costs[name])
                costs[name] = min(costs[name], _once(function, n, clock) / n)
                if costs[name] <= 0:
                    raise _still(n)
    calls: dict[str, int] = {}
    fastest = 0.0
    for name, cost in sorted(costs.items(), key=lambda item: item[1]):
        if cost > _ALIKE * fastest:
            fastest = cost
        calls[name] = max(1, math.ceil(least / fastest - _ROUNDING))
    return {name: calls[name] for name in functions}


def _cost(name: str, function: Callable[[], object], least: float, clock: Callable[[], float]) -> float:
    """Seconds of a call, by a loop that fills the time."""
    calls = 1
    began = monotonic()
    with _garbage_rests():
        start = clock()
        result = function()
        taken = clock() - start
    if any(unfinished(result) for unfinished in (iscoroutine, isgenerator, isasyncgen)):
        getattr(result, "close", int)()
        raise UsageError(
            f"{name}: a call of it runs nothing yet; race functions that run it to its end: "
            "lambda: asyncio.run(f()), or lambda: list(f())"
        )
    while taken < least:
        if taken <= 0 and monotonic() - began >= _STILL_SECONDS:
            raise _still(calls)
        calls *= 2
        began, taken = monotonic(), _once(function, calls, clock)
    return taken / calls


def _still(calls: int) -> UsageError:
    return UsageError(
        f"the clock saw no time pass in {calls} calls: it stands still, or its steps are too coarse; give one "
        "like time.perf_counter"
    )


class CallableExecutor(Executor, Struct, frozen=True):
    """Executes functions; an exception of theirs ends the session."""

    functions: Mapping[str, Callable[[], object]]  # by version
    calls: Mapping[str, int]  # of each function in a run
    clock: Callable[[], float] = perf_counter

    def measure(self, version: PlannedVersion) -> Run:
        """Call so often, the garbage of before collected."""
        gc.collect(0)
        calls = self.calls[version.name]
        return Run({"time": _once(self.functions[version.name], calls, self.clock) / calls})
