"""Builds of revisions, kept by what they are made of: commit, build command and tools."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from speedproof.errors import UsageError
from speedproof.measuring.execute import RunError, shell_command, signal_name
from speedproof.measuring.revisions import Revision, check_out
from speedproof.measuring.store import cache_folder
from speedproof.measuring.system import adopt, end, release, watch

# Of those that are there, the version is a part of what a build is made of.
_TOOLS = ("cc", "c++", "gcc", "g++", "clang", "ld", "rustc", "cargo", "go", "javac", "make", "cmake")
VARIABLES = (
    "CC", "CXX", "CPPFLAGS", "CFLAGS", "CXXFLAGS", "LDFLAGS", "RUSTFLAGS", "GOFLAGS", "CGO_CFLAGS", "MAKEFLAGS",
)  # fmt: skip
_SHOWN_LINES = 15
_KEY = 16
_LIMIT_BYTES = 5 << 30
_LEAST_FREE = 1 << 20


class Build(Struct, frozen=True):
    """A revision that is ready to run."""

    revision: Revision  # what was built
    # Where its commands run; paths of all builds are of one length, because a path's length moves the stack
    folder: Path
    cached: bool  # whether it was there already
    seconds: float  # how long it took


class CachedBuild(Struct, frozen=True):
    """One entry of the cache: its folder, what it is of, and its size in bytes."""

    folder: Path
    name: str
    size: int
    used: float


BuildRevision = Callable[[Revision, contextlib.ExitStack | None], Build]
"""Builds a revision, or finds it built; in use until the session ends, or for as long as is said."""


def tools(variables: Sequence[str] = ()) -> dict[str, str]:
    """Facts that identify the build tools: first lines of their ``--version``, and variables."""
    versions = {name: os.environ[name] for name in (*VARIABLES, *variables) if name in os.environ}
    for tool in _TOOLS:
        if (program := shutil.which(tool)) is not None:
            word = "version" if tool == "go" else "--version"
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                said = subprocess.run([program, word], capture_output=True, timeout=20, check=False).stdout
                versions[f"{tool} --version"] = said.decode(errors="replace").partition("\n")[0]
    return versions


class BuildCache:
    """Builds below the user's cache folder.

    A build counts when its stamp is there, which is written last: one that was killed is made anew. What is in
    use is locked, so that no other session removes it.
    """

    def __init__(self, folder: Path | None = None, *, limit: int = _LIMIT_BYTES) -> None:
        self._folder = folder or cache_folder() / "builds"
        self._limit = limit

    def builds(self) -> list[CachedBuild]:
        """The cached builds, least recently used first."""
        builds = []
        for stamp in self._folder.glob("*/built.json"):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                name = str(json.loads(stamp.read_text(encoding="utf-8"))["name"])
                builds.append(
                    CachedBuild(stamp.parent, name, size_on_disk(stamp.parent), stamp.stat().st_mtime)
                )
        return sorted(builds, key=lambda build: build.used)

    def trim(self, limit: int | None = None) -> list[CachedBuild]:
        """Remove what is unfinished, and the longest unused above the limit; not what is in use."""
        builds = self.builds()
        for folder in self._folder.glob("?" * _KEY):
            if not (folder / "built.json").exists():
                self._remove(folder)
        most = self._limit if limit is None else limit
        total, gone = sum(build.size for build in builds), []
        for build in builds:
            if total <= most:
                break
            if self._remove(build.folder):
                gone.append(build)
                total -= build.size
        return gone

    def _remove(self, folder: Path) -> bool:
        with contextlib.ExitStack() as stack:
            if not self._lock(stack, folder.name, fcntl.LOCK_EX | fcntl.LOCK_NB):
                return False
            # The stamp first, so that a half-removed folder is no build.
            (folder / "built.json").unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
        return True

    def _lock(self, stack: contextlib.ExitStack, key: str, how: int) -> bool:
        file = os.open(self._folder / f"{key}.lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(file, how)
        except BlockingIOError:
            os.close(file)
            return False
        stack.callback(os.close, file)
        return True

    @contextlib.contextmanager
    def builder(
        self,
        top: Path,
        command: str,
        *,
        inside: str = "",
        variables: Sequence[str] = (),
        tell: Callable[[str], object] = print,
    ) -> Iterator[BuildRevision]:
        """A function that builds revisions of a repository; builds stay in use until the end."""
        made_with = tools(variables)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{self._folder}: builds cannot be kept there: {error.strerror}") from None
        with contextlib.ExitStack() as stack:
            how = (inside, command)
            yield lambda revision, held: self._build(held or stack, top, revision, how, made_with, tell)
        self.trim()

    def _build(
        self,
        stack: contextlib.ExitStack,
        top: Path,
        revision: Revision,
        how: tuple[str, str],
        made_with: dict[str, str],
        tell: Callable[[str], object],
    ) -> Build:
        parts: dict[str, object] = {"top": str(top), "build": how, "with": made_with}
        parts |= {"commit": revision.commit, "content": revision.content}
        parts |= {
            "again": "yes" if revision.again else None,
            "number": revision.number,
            "drawn": revision.drawn,
        }
        whole = json.dumps({k: part for k, part in parts.items() if part is not None}, sort_keys=True)
        key = hashlib.sha256(whole.encode(errors="surrogateescape")).hexdigest()[:_KEY]
        folder = self._folder / key
        tree, stamp = folder / "tree", folder / "built.json"
        inside = tree / how[0]
        with contextlib.ExitStack() as alone:
            # Where nobody runs it. What runs added is no part of it, and what they changed is.
            if self._lock(alone, key, fcntl.LOCK_EX | fcntl.LOCK_NB) and stamp.exists():
                states = folder / "files.json"
                if (
                    not states.exists()
                    or not json.loads(states.read_text(encoding="utf-8")).items() <= _states(tree).items()
                ):
                    tell(f"{revision.name}: its kept build was changed since, and is made again")
                    stamp.unlink()
        # Whoever comes second waits for the build of the first; both then share it.
        self._lock(stack, key, fcntl.LOCK_SH)
        if stamp.exists():
            os.utime(stamp)
            return Build(revision, inside, cached=True, seconds=_seconds(stamp))
        with contextlib.ExitStack() as building:
            self._lock(building, f"{key}.building", fcntl.LOCK_EX)
            if not stamp.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                which = "" if revision.number is None else f", build {revision.number + 1}"
                short = revision.commit[:8]
                of = "" if short[:7] in revision.name else f" ({short})"
                tell(f"building {revision.name}{of}{which}")
                begun = time.monotonic()
                with self._roomy():
                    check_out(top, revision, tree)
                    if not inside.is_dir():
                        raise RunError(f"{revision.name}: has no folder {how[0]}")
                    command = how[1].replace("{seed}", str(revision.seed))
                    _carry_out(command, inside, folder / "build.log", revision)
                    took = time.monotonic() - begun
                    (folder / "files.json").write_text(json.dumps(_states(tree)), encoding="utf-8")
                    record = {"name": revision.name, "seconds": took, **json.loads(whole)}
                    stamp.write_text(json.dumps(record), encoding="utf-8")
        return Build(revision, inside, cached=False, seconds=_seconds(stamp))

    @contextlib.contextmanager
    def _roomy(self) -> Iterator[None]:
        """Report a full disk as such, and not as a failed build."""
        try:
            yield
        except (RunError, UsageError, OSError):
            if shutil.disk_usage(self._folder).free > _LEAST_FREE:
                raise
            raise UsageError(
                f"{self._folder}: no room is left for builds; 'speedproof cache --clear' removes old ones, and "
                "XDG_CACHE_HOME=FOLDER keeps them elsewhere"
            ) from None


def build_all(
    build: BuildRevision,
    revisions: Sequence[Revision],
    tell: Callable[[str], object],
    copies: int | None = None,
) -> list[Build]:
    """Build every revision, so often; but for the first, those that cannot be built are left out."""
    builds: list[Build] = []
    for number, revision in enumerate(revisions):
        try:
            wanted = [replace(revision, number=n) for n in range(copies)] if copies else [revision]
            builds += [build(one, None) for one in wanted]
        except RunError as error:
            if number == 0:
                raise
            tell(f"left out: {error}")
    return builds


def _states(tree: Path) -> dict[str, str]:
    """Size and modification time of every file."""
    states = {}
    for folder, folders, names in os.walk(tree):
        if ".git" in folders:
            folders.remove(".git")
        for name in names:
            path = Path(folder) / name
            with contextlib.suppress(OSError):
                facts = path.lstat()
                states[str(path.relative_to(tree))] = f"{facts.st_size} {facts.st_mtime_ns}"
    return states


def _seconds(stamp: Path) -> float:
    """The build time in seconds; 0 for builds of older releases, which did not record it."""
    return float(json.loads(stamp.read_text(encoding="utf-8")).get("seconds", 0.0))


def _carry_out(command: str, tree: Path, log: Path, revision: Revision) -> None:
    if not command:
        return
    with log.open("wb") as output:
        words, nothing = shell_command(command), subprocess.DEVNULL
        before = adopt()
        try:
            made = subprocess.Popen(
                words, cwd=tree, stdin=nothing, stdout=output, stderr=output, process_group=0
            )
            try:
                watch(made.pid)
                code = made.wait()
            except BaseException:
                end(made.pid, before)
                made.wait()
                raise
        finally:
            watch(0)
            release()
    if code:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        shown = "\n".join(f"  {line}" for line in lines[-_SHOWN_LINES:])
        how = f"was killed by {signal_name(-code)}" if code < 0 else f"exited with code {code}"
        if not lines:
            raise RunError(f"{revision.name}: the build {command!r} {how} and printed nothing")
        where = f"the end of {log}" if len(lines) > _SHOWN_LINES else "its output"
        raise RunError(f"{revision.name}: the build {command!r} {how}; {where}:\n{shown}")


def size_on_disk(folder: Path) -> int:
    """Bytes that the files of a folder take on the disk; links are not followed."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(path) / name).lstat().st_blocks * 512
    return total
