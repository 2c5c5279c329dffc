"""The reports that a command writes beside the terminal's: options, and files that appear whole or not at all."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from speedproof.cli.command import Args
from speedproof.cli.console import Console
from speedproof.errors import UsageError
from speedproof.reporting.formats import FORMATS, Reported
from speedproof.reporting.model import Report

if TYPE_CHECKING:
    from speedproof.reporting.stored import Context

STDOUT = "-"


def check_outputs(args: Args) -> None:
    """Find out before the work whether its results can be written."""
    check_distinct(args)
    targets = _targets(args)
    to_stdout = [f"--{name}" for name, target in targets.items() if target == STDOUT]
    if getattr(args, "json", False):
        to_stdout.append("--json")
    if len(to_stdout) > 1:
        raise UsageError(f"{' and '.join(to_stdout)} cannot both write to standard output; give one a file")
    also = {name: getattr(args, name, None) for name in ("save", "export_hyperfine")}
    for name, target in {**targets, **also}.items():
        if target not in (None, STDOUT):
            _check_place(f"--{name.replace('_', '-')}", Path(target))
    if args.github_summary and not os.environ.get("GITHUB_STEP_SUMMARY"):
        raise UsageError(
            "--github-summary: $GITHUB_STEP_SUMMARY is not set, so this is no GitHub job; use --markdown FILE"
        )


_READ = ("files", "file", "config", "baseline", "candidate", "input", "resume", "review", "save")


def check_distinct(args: Args) -> None:
    """Refuse to write a report over the measurements that it is made from."""
    taken: dict[Path, str] = {}
    for name in _READ:
        value = getattr(args, name, None)
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, str) and path not in (STDOUT, os.devnull):
                for candidate in (path, path.partition("=")[2], path.rpartition(":")[0]):
                    if candidate:
                        taken.setdefault(Path(candidate).resolve(), name)
    for name in (*FORMATS, "export_hyperfine", "save"):
        target = getattr(args, name, None)
        if not isinstance(target, str) or target == STDOUT:
            continue
        path = Path(target).resolve()
        if taken.setdefault(path, name) != name:
            raise UsageError(
                f"--{name.replace('_', '-')} {target}: this file is already read or written; name another one"
            )


def _check_place(option: str, path: Path) -> None:
    if path.is_dir():
        raise UsageError(f"{option} {path}: is a folder; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}; make it first")


def context_of(args: Args) -> Context:
    """How the command at hand was called, and by which versions it was carried out."""
    from speedproof.reporting.stored import Context

    return Context.of(shlex.join(["speedproof", *args.argv]))


def write_outputs(
    args: Args, reported: Callable[[], Reported], console: Console, *, again: bool = False
) -> bool:
    """Write every report that was asked for, and append the Markdown to the summary of a GitHub job.

    What there is to report is made where it is wanted; what was made before (``again``) says itself how. The
    answer is whether standard output has one.
    """
    if not outputs_wanted(args):
        return False
    found = reported() if again else replace(reported(), context=context_of(args))
    taken = False
    for name, target in _targets(args).items():
        text = FORMATS[name].write(found, target)
        if target == STDOUT:
            console.out.write(text)
            taken = True
        else:
            write_whole(Path(target), text)
            console.remark(f"wrote {target}")
    if args.github_summary:
        summary = Path(os.environ["GITHUB_STEP_SUMMARY"])
        try:
            with summary.open("a", encoding="utf-8") as file:
                file.write(FORMATS["markdown"].write(found, ""))
        except OSError as error:
            raise UsageError(f"cannot append to {summary}: {error.strerror}") from None
    return taken


def outputs_wanted(args: Args) -> bool:
    """Whether a report is to be written beside the terminal's."""
    return bool(args.github_summary or _targets(args))


def _targets(args: Args) -> dict[str, str]:
    """Where each format goes that was asked for."""
    return {name: target for name in FORMATS if (target := getattr(args, name, None)) is not None}


def write_answer(
    args: Args,
    console: Console,
    reports: Callable[..., Iterable[Report]],
    to_json: Callable[[], str],
    **known: Any,
) -> None:
    """What was found, in every form that was asked for: files, JSON, else the answer on standard output.

    What is ``known`` besides, as :class:`Reported` names it, is for pages.
    """
    asked = {name: value for name, value in vars(args).items() if name in ("details", "explain")}
    asked["everything"] = args.all

    def whole() -> Reported:
        return Reported(tuple(reports(**{**asked, "details": True})), **known)

    taken = write_outputs(args, whole, console, again="context" in known)
    if getattr(args, "json", False):
        console.out.write(to_json())
    elif not taken:
        console.write(*reports(**asked))


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
