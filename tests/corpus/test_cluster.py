"""A real Dask scheduler with workers in processes of their own: same answer, whatever is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.corpus.made import made_up, put

from speedproof.corpus import engine
from speedproof.corpus.answers import How
from speedproof.corpus.compare import Asked, compare
from speedproof.corpus.engine import run
from speedproof.errors import SpeedproofError, UsageError

pytestmark = [
    pytest.mark.skipif(find_spec("distributed") is None, reason="needs Dask"),
    pytest.mark.filterwarnings("ignore"),  # of Dask's own while its processes die
]


_PATIENCE = 120.0  # seconds that a busy machine may take to start a cluster


def _free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def scheduler(port: int, workers: int = 1) -> Iterator[str]:
    """The two lines that the manual gives, with more worker processes."""
    address = f"tcp://127.0.0.1:{port}"

    def start(*argv: str) -> subprocess.Popen[bytes]:
        silent = subprocess.DEVNULL
        return subprocess.Popen([sys.executable, "-m", "dask", *argv], stdout=silent, stderr=silent)

    running = [start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")]
    running += [
        start("worker", address, "--nthreads", "1", "--no-dashboard", "--death-timeout", "120")
        for _ in range(workers)
    ]
    _pids[address] = running[0].pid
    try:
        with import_module("distributed").Client(address, timeout=_PATIENCE, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=_PATIENCE)
        yield address
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


_pids: dict[str, int] = {}


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with scheduler(_free(), 2) as address:
        yield address


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_leaves: None) -> Path:
    monkeypatch.setattr("speedproof.corpus.read.TASK", 60)
    return put(made_up(60, 2), tmp_path / "c")


def in_process(workers: int) -> Any:
    """A cluster of threads of this process."""
    start = import_module("distributed").LocalCluster
    return start(n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=None)


def test_every_task_of_a_cluster_ends_once() -> None:
    """More of them than are handed out at once, of which one may fail."""
    numbers = [*range(-9, 0)]
    with in_process(1) as cluster:
        found = [*run(abs, numbers, dask=cluster.scheduler_address)]
        assert (len(found), {*found}) == (9, {*range(1, 10)})
        with pytest.raises(TypeError, match="bad operand"):
            list(run(abs, ["x", *numbers], dask=cluster.scheduler_address))


@pytest.mark.slow
def test_a_cluster_gives_the_same_bytes(cluster: str, corpus: Path, tmp_path: Path) -> None:
    asked = Asked((("v0", "v1"),), "time")
    compare(corpus, asked, How(tmp_path / "here"))
    assert compare(corpus, asked, How(tmp_path / "there", dask=cluster)).failures == ()
    here, there = ({p.name: p.read_bytes() for p in (tmp_path / n).glob("part*")} for n in ("here", "there"))
    assert len(here) > 1
    assert here == there


def _once_deadly(task: tuple[int, str]) -> int:
    number, folder = task
    mark = Path(folder, "killed")
    if number == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.slow
def test_a_killed_worker_loses_nothing(cluster: str, tmp_path: Path) -> None:
    """The nanny starts another; the task comes again."""
    sys.path.insert(0, str(Path(__file__).parent))
    found = list(run(_shipped(_once_deadly), [(i, str(tmp_path)) for i in range(8)], dask=cluster))
    assert (len(found), set(found)) == (8, set(range(8)))


def _shipped(work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of this file, which workers cannot import, sent by value."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[work.__module__])
    return work


def _wait(task: tuple[int, str]) -> int:
    number, _ = task
    if number > 2:
        time.sleep(0.3)
    return number


@pytest.mark.slow
def test_a_lost_scheduler_is_said_and_the_next_goes_on(cluster: str, tmp_path: Path) -> None:
    import dask

    tasks = [(i, str(tmp_path)) for i in range(200)]
    with scheduler(_free()) as address:
        outcomes = run(_shipped(_wait), tasks, dask=address)
        first = [next(outcomes) for _ in range(3)]
        os.kill(_pids[address], signal.SIGKILL)
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "3s"}),
            pytest.raises(SpeedproofError, match=r"the scheduler is lost.*goes on") as lost,
        ):
            first.extend(outcomes)
    assert f" with {200 - len(first)} of 200 tasks to do" in str(lost.value)
    assert set(run(_shipped(_wait), tasks[:3], dask=cluster)) == {0, 1, 2}


@pytest.mark.slow
def test_a_cluster_that_cannot_be_used(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "WAIT", 2.0)
    with pytest.raises(UsageError, match="no Dask scheduler answers"):
        list(run(_wait, [(0, ""), (1, "")], dask=f"tcp://127.0.0.1:{_free()}"))
    with in_process(0) as nobody, pytest.raises(UsageError, match="the cluster has no workers"):
        list(run(abs, [1, 2], dask=nobody.scheduler_address))
    monkeypatch.setitem(vars(engine), "__version__", "9.9")
    with pytest.raises(UsageError, match=r"runs speedproof 0.*here is speedproof 9\.9.*use the same"):
        list(run(_wait, [(0, ""), (1, "")], dask=cluster))
