"""The reports that a command writes beside the terminal's: options, and files that appear whole or not at all."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from speedproof.cli.asked import CommandOptions
from speedproof.cli.console import Console
from speedproof.errors import UsageError
from speedproof.options import Output
from speedproof.reporting.formats import FORMATS, Reported
from speedproof.reporting.model import Report

if TYPE_CHECKING:
    from speedproof.reporting.stored import Context

STDOUT = "-"


def check_outputs(output: Output, *read: str | None, **saved: str | None) -> None:
    """Find out before the work whether its results can be written, and over no file that is read.

    ``saved`` are other options that name a file to write.
    """
    targets = {name: target for name, target in output.reports.items() if target != STDOUT}
    targets |= {name.replace("_", "-"): target for name, target in saved.items() if target is not None}
    _check_distinct(targets, read)
    to_stdout = [f"--{name}" for name in output.reports if name not in targets]
    if output.json:
        to_stdout.append("--json")
    if len(to_stdout) > 1:
        raise UsageError(f"{' and '.join(to_stdout)} cannot both write to standard output; give one a file")
    for name, target in targets.items():
        if target != STDOUT:
            _check_place(f"--{name}", Path(target))
    if output.github_summary and not os.environ.get("GITHUB_STEP_SUMMARY"):
        raise UsageError(
            "--github-summary: $GITHUB_STEP_SUMMARY is not set, so this is no GitHub job; use --markdown FILE"
        )


def _check_distinct(targets: Mapping[str, str], read: Sequence[str | None]) -> None:
    """Refuse to write a report over the measurements that it is made from."""
    taken = {
        Path(part).resolve()
        for path in read
        if path not in (None, STDOUT, os.devnull)
        for part in (path, path.partition("=")[2], path.rpartition(":")[0])
        if part
    }
    for name, target in targets.items():
        path = Path(target).resolve()
        if path in taken:
            raise UsageError(f"--{name} {target}: this file is already read or written; name another one")
        taken.add(path)


def _check_place(option: str, path: Path) -> None:
    if path.is_dir():
        raise UsageError(f"{option} {path}: is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}; make it first")


def context_of(asked: CommandOptions) -> Context:
    """How the command at hand was called, and by which versions it was carried out."""
    from speedproof.reporting.stored import Context

    return Context.of(shlex.join(["speedproof", *asked.argv]))


def write_outputs(
    asked: CommandOptions,
    output: Output,
    reported: Callable[[], Reported],
    console: Console,
    *,
    again: bool = False,
) -> bool:
    """Write every report that was asked for, and append the Markdown to the summary of a GitHub job.

    What there is to report is made where it is wanted; what was made before (``again``) says itself how. The
    answer is whether standard output has one.
    """
    if not outputs_wanted(output):
        return False
    document = reported() if again else replace(reported(), context=context_of(asked))
    taken = False
    for name, target in output.reports.items():
        text = FORMATS[name].write(document, target)
        if target == STDOUT:
            console.out.write(text)
            taken = True
        else:
            write_whole(Path(target), text)
            console.remark(f"wrote {target}")
    if output.github_summary:
        summary = Path(os.environ["GITHUB_STEP_SUMMARY"])
        try:
            with summary.open("a", encoding="utf-8") as file:
                file.write(FORMATS["markdown"].write(document, ""))
        except OSError as error:
            raise UsageError(f"cannot append to {summary}: {error.strerror}") from None
    return taken


def outputs_wanted(output: Output) -> bool:
    """Whether a report is to be written beside the terminal's."""
    return bool(output.github_summary or output.reports)


def write_answer(
    asked: CommandOptions,
    output: Output,
    console: Console,
    reports: Callable[..., Iterable[Report]],
    to_json: Callable[[], str],
    **known: Any,
) -> None:
    """What was found, in every form that was asked for: files, JSON, else the answer on standard output.

    ``reports`` are called with what the sheet is to show; what is ``known`` besides, as :class:`Reported` names
    it, is for pages.
    """
    shown = {"everything": output.all, "details": output.details}
    shown |= {"explain": True} if output.explain else {}

    def whole() -> Reported:
        return Reported(tuple(reports(**{**shown, "details": True})), **known)

    taken = write_outputs(asked, output, whole, console, again="context" in known)
    if output.json:
        console.out.write(to_json())
    elif not taken:
        console.write(*reports(**shown))


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is the old one or the new one whole, whatever happens in between."""
    path = path.resolve()
    try:
        mode = path.stat().st_mode if path.exists() else None
        if mode is not None and not stat.S_ISREG(mode):
            path.write_text(text, encoding="utf-8")
            return
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            unfinished.write_text(text, encoding="utf-8", newline="")
            if mode is not None:
                unfinished.chmod(stat.S_IMODE(mode))
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
