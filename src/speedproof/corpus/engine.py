"""Many tasks on one process, on several, or on a Dask cluster; their outcomes do not depend on which.

A task is a picklable function of one argument that reads its data itself and returns little. At most a few tasks a
worker are handed out at a time, so neither a queue nor a scheduler ever holds the whole.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import islice
from multiprocessing import get_all_start_methods, get_context
from typing import Any, TypeVar

from speedproof import __version__
from speedproof.errors import FormatError, Parameter, SpeedproofError, UsageError

T = TypeVar("T")
R = TypeVar("R")
_TRIES = 3
_AHEAD = 2  # tasks a worker has waiting
WAIT = 20.0  # seconds until a cluster must have answered
_START = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    work: Callable[[T], R],
    tasks: Sequence[T],
    *,
    workers: int = 1,
    dask: str | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> Iterator[R | SpeedproofError]:
    """Every task's outcome, in the order in which they end.

    A task that finds a damaged file, or whose worker dies three times, is a failure; the others go on. What the
    caller needs afterwards can be made ready ``meanwhile``, when the first tasks are handed out.
    """
    if dask is not None:
        yield from _on_cluster(work, tasks, dask)
    elif workers == 1 or len(tasks) <= 1:
        for task in tasks:
            yield _kept(work, task)
    else:
        yield from _on_processes(work, tasks, min(workers, len(tasks)), meanwhile)


def get_ready(module: str) -> None:
    """Start the process that workers will be forked from, which imports a module while the caller goes on.

    It runs one thread, so forking is safe; PyArrow, whose import starts one, is left to the workers.
    """
    if _START == "forkserver":
        from multiprocessing.forkserver import ensure_running, set_forkserver_preload

        set_forkserver_preload([module])
        with _surroundings():
            ensure_running()


def _kept(work: Callable[[T], R], task: T) -> R | SpeedproofError:
    try:
        return work(task)
    except FormatError as error:
        return error


def _quiet(environment: dict[str, str]) -> None:
    """A worker leaves Ctrl-C to its parent, threads to the other workers, and ends with its parent."""
    import threading
    from multiprocessing import connection, parent_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.update(environment)  # as it is now, not as it was when the first worker started
    parent = parent_process()
    assert parent is not None

    def follow() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    import pyarrow as pa

    pa.set_cpu_count(1)


@contextmanager
def _deaf() -> Iterator[None]:
    """Without Ctrl-C."""
    known = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, known)


@contextmanager
def _surroundings() -> Iterator[None]:
    """What new workers see: one thread each, and no script of the caller's, which each would carry out again."""
    import sys
    from types import ModuleType

    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    known = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    caller = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = caller
        for name, value in known.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _on_processes(
    work: Callable[[T], R], tasks: Sequence[T], workers: int, meanwhile: Callable[[], object]
) -> Iterator[R | SpeedproofError]:
    waiting = deque(tasks)
    while waiting:
        for task in (yield from _in_pool(work, waiting, workers, meanwhile)):
            for _ in range(_TRIES):  # alone, so that one cannot fell others
                if not (yield from _in_pool(work, deque([task]), 1, meanwhile)):
                    break
            else:
                name = getattr(task, "name", task)
                yield SpeedproofError(f"{name}: its worker was killed {_TRIES} times; is memory short?")


def _in_pool(
    work: Callable[[T], R], waiting: deque[T], workers: int, meanwhile: Callable[[], object]
) -> Generator[R | SpeedproofError, None, list[T]]:
    """Outcomes of those that wait, until all are done or a worker dies; then those that were at work."""
    from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
    from concurrent.futures.process import BrokenProcessPool

    with _surroundings():
        pool = ProcessPoolExecutor(workers, get_context(_START), _quiet, (dict(os.environ),))
    running: dict[Future[R | SpeedproofError], T] = {}
    lost: list[T] = []
    try:
        while running or (waiting and not lost):
            with suppress(BrokenProcessPool):
                while waiting and not lost and len(running) < _AHEAD * workers:
                    with _surroundings():  # a task that is handed out may start a worker
                        running[pool.submit(_kept, work, waiting[0])] = waiting[0]
                    waiting.popleft()
            meanwhile()
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                task = running.pop(future)
                if isinstance(future.exception(), BrokenProcessPool):
                    lost.append(task)
                else:
                    yield future.result()
        return lost
    except KeyboardInterrupt:
        with _deaf():  # what is under way takes seconds; a second Ctrl-C amid this would leave workers behind
            for future in running:
                future.cancel()
            done = {future for future in running if not future.cancelled() and future.exception() is None}
        for future in done:
            yield future.result()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _versions() -> tuple[str, str, str]:
    """What a worker runs; it must be what its client runs, or answers could differ."""
    import platform

    import numpy as np

    return __version__, platform.python_version().rpartition(".")[0], np.__version__


def _on_cluster(work: Callable[[T], R], tasks: Sequence[T], address: str) -> Iterator[R | SpeedproofError]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise UsageError(Parameter("dask"), " needs Dask: pip install 'speedproof[cluster]'") from None
    from asyncio import CancelledError as LostInLoop
    from concurrent.futures import CancelledError

    try:
        client = distributed.Client(address, timeout=WAIT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"{address}: no Dask scheduler answers: {error}") from None
    left = len(tasks)
    try:
        with client:
            _same_versions(client, address)
            waiting = iter(tasks)
            ahead = max(4, _AHEAD * sum(client.nthreads().values()))

            def start(count: int) -> list[Any]:
                return [
                    client.submit(_kept, work, task, pure=False, retries=_TRIES)
                    for task in islice(waiting, count)
                ]

            running = distributed.as_completed(start(ahead), loop=client.loop)
            for future in running:
                failed = future.exception()
                if failed is not None and not isinstance(failed, distributed.scheduler.KilledWorker):
                    raise failed
                killed = SpeedproofError("a task's workers were killed again and again; is memory short?")
                outcome = future.result() if failed is None else killed
                left -= 1
                yield outcome
                future.release()
                for more in start(1):
                    running.add(more)
    except (LostInLoop, CancelledError, OSError) as error:
        raise SpeedproofError(
            f"{address}: the scheduler is lost ({type(error).__name__}) with {left} of {len(tasks)} tasks to do; "
            "what is done is kept, and the same command goes on when there is a scheduler"
        ) from None


def _same_versions(client: Any, address: str) -> None:
    """Refuse a cluster without workers, or of another version."""
    try:
        client.wait_for_workers(1, timeout=WAIT)
    except TimeoutError:
        raise UsageError(
            f"{address}: the cluster has no workers; start some with 'dask worker {address}'"
        ) from None
    this = _versions()
    try:
        elsewhere = client.run(_versions)
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"{address}: a worker cannot import this speedproof ({error}); install speedproof {this[0]} there"
        ) from None
    for worker, theirs in elsewhere.items():
        if tuple(theirs) != this:
            said, here = (f"speedproof {a}, Python {b}, NumPy {c}" for a, b, c in (theirs, this))
            raise UsageError(f"{address}: worker {worker} runs {said}, here is {here}; use the same on both")
