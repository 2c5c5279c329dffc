"""The server: tests are collected once, every mutant is tried in a fork of it."""

from __future__ import annotations

import gc
import importlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from studies.mutants.operators import Mutant
from studies.mutants.record import Recorded


class Server:
    """A plug-in for pytest, which runs mutants where the tests would be run."""

    def __init__(
        self,
        package: Path,
        recorded: Recorded,
        wanted: Iterable[Mutant],
        tell: Callable[[Mutant, str], None],
        seconds: float,
    ) -> None:
        self.seconds = seconds  # of a processor that a mutant's tests may take, those likely to fail first
        self.package, self.recorded, self.tell = package, recorded, tell
        self.wanted = list(wanted)
        self.kills: dict[str, Counter[str]] = {}
        self.sound: dict[str, bool] = {}
        self.failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        self.failed |= report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try the mutants; the tests themselves are run in forks only."""
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends with the copy as it was
        sys.dont_write_bytecode = True  # of mutants
        self.items = {item.nodeid: item for item in session.items}
        self.recorded.guess([item for item in session.items if item.nodeid not in self.recorded.seconds])
        for item in session.items:
            _without_shrinking(item)
        for module in {mutant.module for mutant in self.wanted}:
            importlib.import_module(f"speedproof.{module.removesuffix('.py').replace('/', '.')}")
        gc.unfreeze()  # the tests' own conftest hides what they imported
        self.functions: dict[tuple[str, str, int], list[FunctionType]] = {}
        gc.unfreeze()  # what the tests have frozen is not listed
        for one in gc.get_objects():
            if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(str(self.package)):
                self.functions.setdefault(_key(one.__code__), []).append(one)
        self.caches = [one for one in gc.get_objects() if isinstance(one, _lru_cache_wrapper)]
        self.cached = {(one.__module__, getattr(one, "__qualname__", "")) for one in self.caches}
        gc.collect()
        gc.freeze()
        for mutant in self.wanted:
            self.tell(mutant, self.fate(mutant))
        return True

    def fate(self, mutant: Mutant) -> str:
        """Return ``survived``, ``not executed``, or how it was killed."""
        path = self.package / mutant.module
        text, times = path.read_text(encoding="utf-8"), path.stat()
        changed = mutant.apply(text)
        last = mutant.line + text.count("\n", mutant.start, mutant.end)
        tests = self.recorded.of(mutant.module, mutant.line, last)
        # What a function remembers is executed by the first test that asks for it, and told to all others.
        name = f"speedproof.{mutant.module.removesuffix('.py').replace('/', '.')}"
        if not mutant.function or not tests or (name, mutant.function) in self.cached:
            tests = tests | self.recorded.of_module(mutant.module)
        order = self._ordered(mutant.module, tests & self.items.keys())
        if not order:
            return "not executed"
        # Commands that tests start read the module from there, too.
        path.write_text(changed, encoding="utf-8")
        try:
            while True:
                if mutant.function:
                    ended = self._in_fork(order, lambda: self._exchange(path, mutant, changed))
                else:
                    ended = self._in_process(order)
                if ended is None:
                    return "survived"
                if ended not in order:  # not even a first test began with it
                    return f"killed by {ended}"
                # A test that fails without the change, too, kills nothing.
                path.write_text(text, encoding="utf-8")
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
                if ended not in self.sound:
                    self.sound[ended] = self._in_fork([ended], lambda: None) is None
                if self.sound[ended]:
                    self.kills.setdefault(mutant.module, Counter())[ended] += 1
                    return f"killed by {ended}"
                path.write_text(changed, encoding="utf-8")
                order.remove(ended)
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _ordered(self, module: str, tests: set[str]) -> list[str]:
        """Put first what killed others of the module, then what is nearest; of each function a case at a time."""
        kills, recorded = self.kills.get(module, Counter()), self.recorded
        cases: Counter[str] = Counter()
        order = []
        for test in sorted(tests):
            if self.sound.get(test, True):
                function = test.partition("[")[0]
                cases[function] += 1
                near = recorded.near(test, module)
                order.append((-kills[test], near, cases[function], recorded.seconds[test], test))
        return [test for *_, test in sorted(order)]

    def _exchange(self, path: Path, mutant: Mutant, changed: str) -> None:
        """Give every function of the module whose code the change touches its new code."""
        for code in _codes(compile(changed, str(path), "exec", dont_inherit=True)):
            for function in self.functions.get(_key(code), ()):
                if code.co_qualname == mutant.function:
                    function.__code__ = code
        for cache in self.caches:
            if cache.__module__.startswith("speedproof"):
                cache.cache_clear()

    def _in_fork(self, tests: list[str], prepare: Callable[[], None]) -> str | None:
        """Run tests until one fails; its name, or nothing where all pass."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            self._child(tests, prepare, writing)
        os.close(writing)
        told = b""
        with os.fdopen(reading, "rb") as pipe:
            os.set_blocking(pipe.fileno(), False)
            deadline = time.monotonic() + 120 + 20 * self.seconds
            while True:
                gone, status = os.waitpid(child, os.WNOHANG)
                told += pipe.read() or b""
                if gone:
                    break
                if time.monotonic() > deadline:
                    os.killpg(child, signal.SIGKILL)
                time.sleep(0.01)
        begun = told.decode().split("\n")[:-1]
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
            return None
        return begun[-1] if begun else "(no test)"

    def _child(self, tests: list[str], prepare: Callable[[], None], writing: int) -> None:
        status = 1
        try:
            os.setpgid(0, 0)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            prepare()
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            begun = time.process_time()
            for at, test in enumerate(tests):
                item = self.items[test]
                after = self.items[tests[at + 1]] if at + 1 < len(tests) else None
                os.write(writing, f"{test}\n".encode())
                # By the processor's time, since other work makes the clock's longer: what never ends is killed.
                signal.setitimer(signal.ITIMER_PROF, 5.0 + 10 * self.recorded.seconds.get(test, 1.0))
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                if self.failed or time.process_time() - begun > self.seconds:
                    break
            status = int(self.failed)
        finally:
            os._exit(status)

    def _in_process(self, tests: list[str]) -> str | None:
        """Run tests in a fresh interpreter, for changes of what runs at import."""
        tests = tests[:200]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
        if done.returncode == 0:
            return None
        failed = [
            line.split()[1] for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))
        ]
        # An import that fails is no test's own fault; any of the tests stands for it.
        return failed[0] if failed and failed[0] in self.items else tests[0]


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> Iterable[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _without_shrinking(item: pytest.Item) -> None:
    """Let Hypothesis stop at the first failure: that there is one is all that counts."""
    import hypothesis  # pytest rewrites its assertions, so it must not be here before

    function = getattr(item, "obj", None)
    settings = getattr(function, "_hypothesis_internal_use_settings", None)
    if function is not None and settings is not None:
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        function = getattr(function, "__func__", function)
        function._hypothesis_internal_use_settings = hypothesis.settings(
            settings, phases=phases, report_multiple_bugs=False
        )
