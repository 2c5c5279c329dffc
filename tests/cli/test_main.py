"""The program as a process: its streams, its exit code, its end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import O2, O3, refused, speedproof

import speedproof as sp

PROGRAM = [sys.executable, "-m", "speedproof"]


def test_a_process_ends_with_the_code_of_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl-C another one, while Python ends, is not heeded; a profiler looks on; a defect is an error."""
    code = (
        "import atexit, os, signal, sys; import speedproof.cli.main as program; "
        "program.main = lambda: int(sys.argv[1]); sys.argv[1] == '3' and sys.setprofile(lambda *_: None); "
        "number = signal.SIGINT if sys.argv[1] == '130' else 0; "
        "atexit.register(lambda: [os.kill(os.getpid(), number), sum(range(100))]); program.entry()"
    )
    for given, expected in (("1", 1), ("3", 3), ("130", 130), ("defect", 2)):
        done = subprocess.run([sys.executable, "-c", code, given], capture_output=True, check=False)
        said = bool(done.stderr), b"\nValueError: " in done.stderr and b"please report it" in done.stderr
        assert (done.returncode, *said) == (expected, *[given == "defect"] * 2)
    assert speedproof("--version")[1] == f"speedproof {sp.__version__}\n"
    interrupted = (_ for _ in ()).throw
    monkeypatch.setattr("speedproof.cli.show.load", lambda *_, **__: interrupted(KeyboardInterrupt))
    code_, _, err = speedproof("show", O2)
    assert (code_, "interrupted" in err) == (130, True)


_INTERRUPTED = """
import os, signal, sys
class Interrupts:
    def find_spec(self, name, *rest):
        if name == "speedproof.cli.main":
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, getattr(signal, sys.argv[1]))
sys.meta_path.insert(0, Interrupts())
from speedproof.__main__ import entry
sys.argv[1:] = ["--version"]
entry()
"""


@pytest.mark.parametrize(("handler", "code"), [("default_int_handler", -signal.SIGINT), ("SIG_IGN", 0)])
def test_an_early_interruption_leaves_no_traceback(handler: str, code: int) -> None:
    """Before there is anything to say the process ends; not where a shell has interruptions ignored."""
    words = [sys.executable, "-c", _INTERRUPTED, handler]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, bool(done.stdout)) == (code, "", not code)


def test_whoever_runs_the_program_goes_on_after_it() -> None:
    """A profiler writes what it saw, and all that was written arrives in a pipe."""
    command = [sys.executable, "-m", "cProfile", "-o", "profile", *PROGRAM[1:], "--help"]
    done = subprocess.run(command, capture_output=True, check=True)
    # Without any command it is the help.
    alone = subprocess.run(PROGRAM, capture_output=True, check=True)
    assert (done.stdout, done.stderr, Path("profile").stat().st_size > 0) == (alone.stdout, b"", True)


@pytest.mark.parametrize("threads", [None, "3"])
def test_programs_see_the_threads_that_the_user_set(
    threads: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runner's own NumPy starts with one, which no program that it measures inherits."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if threads:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
    show = "sh -c 'echo set to $OPENBLAS_NUM_THREADS. >> seen'"
    subprocess.run([*PROGRAM, "run", show, show, "--runs", "3"], capture_output=True, check=False)
    assert set(Path("seen").read_text().splitlines()) == {f"set to {threads or ''}."}


def test_a_closed_output_does_not_turn_a_failure_into_a_success() -> None:
    """As ``speedproof ... --fail-on slower | true``: never 0; without any output it is no crash either."""
    line = " ".join(f"'{part}'" for part in (*PROGRAM, "compare", O2, O3))
    done = subprocess.run(["sh", "-c", f"{line} >&-"], capture_output=True, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    reader, writer = os.pipe()
    os.close(reader)
    words = ["compare", O3, O2, "--fail-on", "slower"]
    ended = subprocess.run([*PROGRAM, *words], stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (ended.returncode in (1, 141), b"Traceback" in ended.stderr) == (True, False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
@pytest.mark.parametrize("buffered", ["", "1"])
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_full_disk_is_told(more: tuple[str, ...], buffered: str) -> None:
    """Under standard output, or by its name."""
    words, environment = ["compare", O2, O3, *more], os.environ | {"PYTHONUNBUFFERED": buffered}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, check=False, env=environment
        )
    told = b"speedproof: error: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, told)
    assert "cannot write /dev/full: No space left on device" in refused(*words[:3], "--csv", "/dev/full")


@pytest.mark.parametrize(("words", "code"), [(("--metric", "time"), 0), (("--reference", "no"), 2)])
@pytest.mark.parametrize("closed", [False, True])
def test_remarks_that_cannot_be_written_change_no_exit_code(
    words: tuple[str, ...], code: int, closed: bool
) -> None:
    """On a full disk, or where the reader has gone: the answer is the same; a stray member makes a remark."""
    text = Path(O2).read_text().replace('"results": [', '"results": [{"command": "no"},', 1)
    Path("stray.json").write_text(text)
    reading, writing = os.pipe()
    os.close(reading)
    if not closed and Path("/dev/full").exists():
        os.dup2(os.open("/dev/full", os.O_WRONLY), writing)
    command = [*PROGRAM, "compare", "stray.json", O3, *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=writing, text=True, check=False)
    os.close(writing)
    assert (done.returncode, "against stray" in done.stdout) == (code, code == 0)
