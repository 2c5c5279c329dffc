"""The commands that are about the program itself: its help, formats, completion, and the builds that it keeps."""

from datetime import datetime
from functools import partial
from typing import Annotated, Literal

import click

from speedproof.cli.command import Command, unknown_command
from speedproof.cli.console import Console
from speedproof.declaring import Argument
from speedproof.options import CommandOptions

_SIZE = 1e6


class HelpOptions(CommandOptions, frozen=True, kw_only=True):
    """Show the help of a command, or of the program.

    It is what the command shows with --help.

        speedproof help
        speedproof help compare
        speedproof help history add
    """

    command: Annotated[tuple[str, ...], Argument("[COMMAND...]", "the command", is_file=False)] = ()


def _help(asked: HelpOptions, console: Console) -> int:
    from speedproof.cli.main import PROGRAM

    context = click.Context(PROGRAM, info_name="speedproof", obj=console)
    for name in asked.command:
        group = context.command if isinstance(context.command, click.Group) else click.Group()
        command = group.get_command(context, name)
        if command is None:
            raise unknown_command(name, group.list_commands(context), context)
        context = click.Context(command, info_name=name, parent=context)
    console.out.write(context.get_help() + "\n")
    return 0


_FORMATS = """List the result files that are read.

    A file's format is found by its content; --format NAME overrides that.

        speedproof formats
        speedproof show results.txt --format raw --unit ms
    """


def _formats(asked: CommandOptions, console: Console) -> int:
    import speedproof as sp
    from speedproof.reporting.model import Cell, Column, Report, Table, Text

    rows = ((Cell(f.name, "strong"), f.title, f.description) for f in sp.formats.FORMATS)
    columns = (Column("--format"), Column("tool"), Column("what is read"))
    note = Text("Each may be compressed with gzip or bzip2; - reads standard input.")
    console.write(Report("", (), (Table.of(columns, rows),), (note,)))
    return 0


class CompletionOptions(CommandOptions, frozen=True, kw_only=True):
    """Print a script for a shell.

    It completes speedproof's commands, options and files.

        eval "$(speedproof completion bash)"       in ~/.bashrc
        eval "$(speedproof completion zsh)"        in ~/.zshrc
        speedproof completion fish > ~/.config/fish/completions/speedproof.fish
    """

    shell: Annotated[Literal["bash", "zsh", "fish"], Argument("", "the shell to write for")]


def _completion(asked: CompletionOptions, console: Console) -> int:
    from click.shell_completion import ShellComplete, get_completion_class

    from speedproof.cli.main import PROGRAM

    kind = get_completion_class(asked.shell)
    assert kind is not None
    # The shell's own check of its version would start the shell.
    script = ShellComplete.source(kind(PROGRAM, {}, "speedproof", "_SPEEDPROOF_COMPLETE"))
    console.out.write(script + "\n")
    return 0


class CacheOptions(CommandOptions, frozen=True, kw_only=True):
    """List the builds that 'speedproof run --revisions' and 'speedproof bisect' keep, or remove them.

    The longest unused comes first. Builds in use by a session stay.

        speedproof cache
        speedproof cache --clear
    """

    clear: Annotated[bool, "remove all"] = False


def _cache(asked: CacheOptions, console: Console) -> int:
    from speedproof.api.run_plan import BuildCache
    from speedproof.reporting.model import Column, Report, Table, Text
    from speedproof.reporting.numbers import plural

    cache = BuildCache()
    if asked.clear:
        gone = cache.trim(0)
        freed = sum(build.size for build in gone) / _SIZE
        console.write(Report("", (Text(f"{plural(len(gone), 'build')} removed, {freed:.1f} MB"),)))
        return 0
    builds = cache.builds()
    if not builds:
        console.write(Report("", (Text("No build is kept. 'speedproof run --revisions' makes some."),)))
        return 0
    table = Table.by(
        builds,
        (Column("revision", names=True), lambda b: b.name),
        (Column("size", right=True), lambda b: f"{b.size / _SIZE:.1f} MB"),
        (Column("last used"), lambda b: f"{datetime.fromtimestamp(b.used):%Y-%m-%d %H:%M}"),
        (Column("folder"), lambda b: str(b.folder)),
    )
    total = sum(build.size for build in builds) / _SIZE
    count = Text(f"{plural(len(builds), 'build')}, {total:.1f} MB")
    console.write(Report("", (count,), (table,)))
    return 0


COMMANDS = {
    "cache": partial(Command, CacheOptions, _cache),
    "formats": partial(Command, CommandOptions, _formats, _FORMATS),
    "completion": partial(Command, CompletionOptions, _completion),
    "help": partial(Command, HelpOptions, _help),
}
