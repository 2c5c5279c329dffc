"""What the commands consist of: files by content, so that a program that was built anew is noticed.

Blocks compare what ran. A session that goes on with another one must run the same programs, and a program that
is rebuilt while it is measured makes one sample of two programs. Looked at are the program of every command and
each of its words that names a file (a script after its interpreter, an input), also inside a shell command.
Libraries that a program loads are not looked at.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from speedproof.data.session_file import PlannedBenchmark, PlannedVersion, StoredSession
from speedproof.errors import UsageError
from speedproof.measuring.execute import find_program

# Larger files are identified by size and time: reading it would cost more than a second, and empty the page cache.
HASHED_BYTES = 256 << 20
_ELF = b"\x7fELF"
_OPERATORS = frozenset("();<>|&")
_ASSIGNMENT = re.compile(r"\w+=")
# A session's start is stored in whole seconds, and file systems keep times in steps of their own.
_SLACK_SECONDS = 2.0


def fingerprints(plan: Iterable[PlannedBenchmark]) -> dict[str, str]:
    """Describe the content of every file that the commands of a plan name."""
    paths = dict.fromkeys(
        path for benchmark in plan for version in benchmark.versions for path in _files_of(version)
    )
    return {str(path): fingerprint(path) for path in paths}


def other_executables(
    plan: Iterable[PlannedBenchmark], files: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """For each benchmark the candidates with another native executable than the reference.

    Scripts differ in what they say and not in where a linker put it; a name for the same content is no other one.
    """
    others_of = {}
    for benchmark in plan:
        reference, *candidates = (
            {files.get(str(path)) for path in _programs_of(version) if _is_native(path)}
            for version in benchmark.versions
        )
        sides = zip(benchmark.versions[1:], candidates, strict=True)
        if others := tuple(v.name for v, program in sides if reference and program and program != reference):
            others_of[benchmark.name] = others
    return others_of


def not_found(plan: Iterable[PlannedBenchmark]) -> str:
    """The first program of a plan that is not there, unless a setup command may still make it."""
    for benchmark in plan:
        for version in benchmark.versions:
            program = find_program(version.command[0], {**os.environ, **version.env})
            if not version.setup and not (program and (Path.cwd() / version.cwd / program).exists()):
                return version.command[0]
    return ""


def refuse_one_file(plan: Iterable[PlannedBenchmark], repository: Path, folder: Path) -> None:
    """Refuse a command that starts one file for all commits, which no tree of theirs holds.

    A program that PATH finds may measure the folder that it is started in, and a file of the tree is that of each.
    """
    for benchmark in plan:
        for version in benchmark.versions[:1]:
            inner = version.command[-2:] == ("-c", version.text)
            names = shell_words(version.text)[0] if inner else list(version.command)
            whole = [Path(name) for name in names[:2] if Path(name).is_absolute() and Path(name).is_file()]
            same = [path for path in whole if path == Path(names[0]) or path.is_relative_to(repository)]
            others = [name for name in names if not Path(name).is_absolute()]
            # What is built need not be here.
            if same and not any("/" in one or (folder / version.cwd / one).is_file() for one in others):
                raise UsageError(
                    f"{same[-1]} is one file for all commits; name one of their trees, as ./bench, or a program "
                    "that PATH finds, if it measures the folder that it is started in"
                )


def lacks(name: str, missing: str, build: str) -> str:
    """A message that a revision lacks its program, with advice."""
    if "/" not in missing:
        return f"{name}: PATH has no {missing}; a file of the tree is named as ./{missing}"
    if build:
        return f"{name}: has no {missing} after its build"
    return f"{name}: has no {missing}; if it has to be built, give --build CMD"


def replaced(
    plan: Iterable[PlannedBenchmark], before: Mapping[str, str], after: Mapping[str, str]
) -> list[tuple[str, str, str]]:
    """The programs (not other files) whose content has changed."""
    return [
        (benchmark.name, version.name, path)
        for benchmark in plan
        for version in benchmark.versions
        if before and (files := _files_of(version))
        for path in (str(files[0]),)
        if before.get(path) != after.get(path)
    ]


def was_changed(session: StoredSession, now: Mapping[str, str]) -> list[str]:
    """What has changed since a session, so that its blocks may not be continued.

    A command's own output may be among its words and changes with every run. Of the files that are not programs
    only those count, therefore, that changed after the last run.
    """
    before = session.head.files
    end = ran_until(session)

    def late(path: str) -> bool:
        try:
            return Path(path).stat().st_mtime > end + _SLACK_SECONDS
        except OSError:
            return True

    programs = [path for _, _, path in replaced(session.head.benchmarks, before, now)]
    # One that the commands do not name from here is another file's namesake at most; one that is gone is a change.
    gone = {path: "" for path in before if not Path(path).is_file()}
    inputs = [path for path in before if before[path] != {**before, **now, **gone}[path] and late(path)]
    return list(dict.fromkeys([*programs, *inputs]))


def ran_until(session: StoredSession) -> float:
    """When the last run of a session ended, in seconds of the epoch."""
    started = datetime.fromisoformat(session.head.started).timestamp()
    return max((started + run.at + run.metrics.get("time", 0.0) for run in session.runs), default=started)


def _files_of(version: PlannedVersion) -> list[Path]:
    """The program first, when it is found; then every word that names a file."""
    words, _ = _words_of(version)
    values = [part for word in words for part in (word, word.partition("=")[2]) if part]
    return list(dict.fromkeys([*_programs_of(version), *_there(version, values)]))


def _programs_of(version: PlannedVersion) -> list[Path]:
    """The programs that a command starts."""
    env = {**os.environ, **version.env}
    names = [find_program(name, env) for name in _words_of(version)[1]]
    return _there(version, [name for name in names if name])


def _there(version: PlannedVersion, names: Iterable[str]) -> list[Path]:
    return [path for path in (Path.cwd() / version.cwd / name for name in names) if path.is_file()]


def _is_native(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_ELF)) == _ELF
    except OSError:
        return False


def _words_of(version: PlannedVersion) -> tuple[list[str], list[str]]:
    """The words of a command, and the programs among them."""
    if version.command[-2:] != ("-c", version.text):
        return list(version.command), [version.command[0]]
    inner, programs = shell_words(version.text)
    return [*version.command[:-2], *inner], [version.command[0], *programs]


def _tokens(text: str) -> list[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:
        # Shells know more quotes than this lexer does.
        return text.split()


def shell_words(text: str) -> tuple[list[str], list[str]]:
    """The words of a shell's command, and those that it would look up as programs: the first after an operator."""
    words, starts, first = [], [], True
    for token in _tokens(text):
        if set(token) <= _OPERATORS:
            first = not set(token) & set("<>")
            continue
        words.append(token)
        if first and not _ASSIGNMENT.match(token):
            starts.append(token)
            first = False
    return words, starts


def fingerprint(path: Path) -> str:
    """Hash of a file; of a large or unreadable one its size and time."""
    try:
        facts = path.stat()
        if facts.st_size <= HASHED_BYTES and os.access(path, os.R_OK):
            with path.open("rb") as file:
                return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError:
        return "unreadable"
    return f"size:{facts.st_size} changed:{facts.st_mtime_ns}"
