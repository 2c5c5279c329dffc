"""What a command is: click's, with options in named groups, examples as written, errors in one line.

A module of this package declares ``COMMAND`` and defines ``run(args, console) -> int``; its one-line help stands
in :data:`speedproof.cli.main.COMMANDS`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from speedproof.cli.console import Console
from speedproof.cli.values import KINDS
from speedproof.errors import UsageError

__all__ = ["Args", "Argument", "Command", "CommandOfWords", "Group", "Option", "ParamType", "said"]

_NEAR = 0.66


class Args(SimpleNamespace):
    """The values of a command's options by name, ``argv`` and ``given``: which options were given, as written."""

    argv: list[str]
    given: dict[str, str]

    def take(self, *names: str) -> dict[str, Any]:
        """The values of these options, for a function whose keywords are called as they are."""
        return {name: getattr(self, name) for name in names}

    def refuse(self, *names: str, because: str) -> None:
        """Say which of these options were given though they would change nothing; ``because`` tells why."""
        if needless := [self.given[name] for name in names if name in self.given]:
            raise UsageError(f"{because}; leave out {', '.join(needless)}")

    def refuse_file_of_json(self, words: Sequence[str]) -> None:
        """Say that ``--json`` takes no file, which would be measured as a command."""
        last = words[-1] if words else ""
        if self.json and last.endswith(".json") and " " not in last:
            raise UsageError(
                f"{last} was taken for a command; JSON goes to standard output (--json > {last})"
            )


if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # generic since click 8.2 only
    ParamType = click.ParamType


class _Parsed(ParamType):
    """A value that a function makes of the text; a ValueError says what is wrong."""

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self.name = parse.__name__
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._parse(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Argument(click.Argument):
    """What stands without a dash; files unless it is said otherwise."""

    def __init__(self, name: str, metavar: str | None, help: str, *, many: bool = False, **more: Any) -> None:
        more = {"type": click.Path(allow_dash=True), "required": True, **more}
        super().__init__([name], metavar=metavar, nargs=-1 if many else 1, **more)
        self.explained = help

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """As it is shown among the options."""
        return self.make_metavar(ctx), self.explained


class Option(click.Option):
    """An option, declared as its help shows it: ``Option("--max-time, -t S", "seconds for each benchmark")``.

    What follows the names says of which kind the value is (:data:`speedproof.cli.values.KINDS`), or among which
    words it is chosen (``[a|b]``); several words are so many values, and without any it is a flag.
    """

    def __init__(
        self,
        usage: str,
        help: str,
        *,
        choices: Sequence[str] = (),
        parse: Callable[[str], Any] | ParamType | None = None,
        many: bool = False,
        excludes: str = "",
        needs: str = "",
        **more: Any,
    ) -> None:
        words = usage.split()
        names = [word.rstrip(",") for word in words if word.startswith("-")]
        metavar = " ".join(words[len(names) :])
        if metavar.startswith("[") and "|" in metavar:
            choices, metavar = metavar.strip("[]").split("|"), ""
        kind = parse or KINDS.get(metavar)
        if choices:
            more["type"] = click.Choice(list(choices))
        elif kind is not None:
            more["type"] = kind if isinstance(kind, click.ParamType) else _Parsed(kind)
        more["nargs"] = max(len(words) - len(names), 1)
        more["is_flag"] = not (metavar or choices) or None
        super().__init__(names, help=help, multiple=many, metavar=metavar or None, **more)
        self.group = "options"
        self.excludes = excludes.split()
        self.needs = needs

    @property
    def long(self) -> str:
        """How it is called in messages."""
        return next((o for o in self.opts if o.startswith("--")), self.opts[0])


def _show_help(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        console: Console = ctx.obj
        console.out.write(ctx.get_help() + "\n")
        ctx.exit()


def _set_colour(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None and isinstance(ctx.obj, Console):
        ctx.obj.choose_colour(value)


def common() -> list[Option]:
    """What every command and the program itself have."""
    hidden: dict[str, Any] = {"expose_value": False, "is_eager": True}
    return [
        Option(
            "--color [auto|always|never]",
            "colour: auto (default: on a terminal), always or never",
            callback=_set_colour,
            **hidden,
        ),
        Option("--help, -h", "show this help", callback=_show_help, **hidden),
    ]


class Command(click.Command):
    """A command."""

    def __init__(
        self,
        description: str,
        examples: str,
        params: Sequence[click.Parameter | str],
        run: Callable[[Args, Console], int] | None = None,
    ) -> None:
        """``params``: arguments and options, and before those of a group its title.

        ``run`` is given of an action; of a command it is the function of its module.
        """
        own: list[click.Parameter] = []
        title = "options"
        for param in params:
            if isinstance(param, str):
                title = param
                continue
            if isinstance(param, Option):
                param.group = title
            own.append(param)
        super().__init__(
            None,
            callback=run,
            help=description,
            epilog=f"examples:\n{examples}" if examples else None,
            params=[*own, *common()],
            add_help_option=False,
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """What click does, with an error that knows which command it is of."""
        try:
            return super().parse_args(ctx, args)
        except click.BadOptionUsage as error:
            error.ctx = error.ctx or ctx
            raise

    def args_of(self, ctx: click.Context) -> Args:
        """What the command's function is given."""
        values = {name: list(v) if isinstance(v, tuple) else v for name, v in ctx.params.items()}
        given = {
            p.name: p.opts[0]
            for p in self.params
            if isinstance(p, Option)
            and p.name
            and ctx.get_parameter_source(p.name) is ParameterSource.COMMANDLINE
        }
        for p in self.params:
            if not (isinstance(p, Option) and p.name in given):
                continue
            if others := [given[name] for name in p.excludes if name in given]:
                raise click.UsageError(f"{p.long} and {', '.join(others)} exclude each other", ctx)
            if p.needs and not values[p.needs]:
                needed = next(o.long for o in self.params if isinstance(o, Option) and o.name == p.needs)
                raise click.UsageError(f"{p.long} belongs to {needed}; give that, too", ctx)
        return Args(**values, argv=ctx.meta.get("argv", []), given=given)

    def invoke(self, ctx: click.Context) -> int:
        """Hand the values to the command's function; its result is the exit code."""
        assert self.callback is not None
        code: int = self.callback(self.args_of(ctx), ctx.obj)
        return code

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Arguments, then each group of options under its title."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for p in self.params:
            if (record := p.get_help_record(ctx)) is not None:
                groups.setdefault(p.group if isinstance(p, Option) else "arguments", []).append(record)
        groups["options"] = groups.pop("options", [])  # the common ones last
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Line by line, as it was written."""
        if self.epilog:
            formatter.write(f"\n{self.epilog}\n")


class Group(click.Group):
    """A command with actions, each of which has its own options and help."""

    format_epilog = Command.format_epilog

    def __init__(
        self, description: str, examples: str, actions: Mapping[str, Command], usual: str = ""
    ) -> None:
        """``usual`` is the action that is meant where none is named."""
        super().__init__(
            commands=dict(actions),
            help=description,
            epilog=f"examples:\n{examples}",
            params=common(),
            add_help_option=False,
            no_args_is_help=False,
            subcommand_metavar="ACTION ...",
        )
        self.actions = actions
        self.usual = usual

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The actions, in the order in which they are declared."""
        return list(self.actions)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Name the usual action where options alone are given."""
        if (
            not ctx.resilient_parsing
            and (not args or args[0].startswith("-"))
            and args[:1] not in (["-h"], ["--help"])
        ):
            if not self.usual:
                raise click.UsageError(f"name an action first: {', '.join(self.actions)}", ctx)
            if late := [word for word in args if word in self.actions]:
                raise click.UsageError(f"name the action first: {ctx.command_path} {late[0]} ...", ctx)
            args = [self.usual, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """An action by its name."""
        if args[0] not in self.actions and not ctx.resilient_parsing:
            raise click.UsageError(f"{args[0]}: no such action; choose one of {', '.join(self.actions)}", ctx)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Every action with what it takes and does, then the options."""
        rows = [
            (
                " ".join([name, *(p.make_metavar(ctx) for p in action.params if isinstance(p, Argument))]),
                action,
            )
            for name, action in self.actions.items()
        ]
        with formatter.section("actions"):
            formatter.write_dl([(usage, action.get_short_help_str(60)) for usage, action in rows])
        with formatter.section("options"):
            formatter.write_dl([r for p in self.params if (r := p.get_help_record(ctx)) is not None])
        formatter.write(f"\nOptions of an action: {ctx.command_path} ACTION --help\n")


class CommandOfWords(Command):
    """Takes all words after ``--`` as one command: ``args.words``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split the words at the dashes."""
        at = args.index("--") if "--" in args else len(args)
        left = super().parse_args(ctx, args[:at])
        ctx.params["words"] = args[at + 1 :]
        return left


def said(error: click.UsageError) -> str:
    """An error of the command line in one line, with a suggestion where one is near."""
    if isinstance(error, click.NoSuchOption):
        known = [o for p in error.ctx.command.params for o in p.opts] if error.ctx else []
        text = f"unknown option {error.option_name}{_near(error.option_name, known)}"
    else:
        text = error.format_message().rstrip(".")
        text = text[:1].lower() + text[1:]
        if (
            isinstance(error, click.BadOptionUsage)
            and error.option_name == "--json"
            and "take a value" in text
        ):
            text += ": JSON goes to standard output (--json > FILE)"
    path = error.ctx.command_path if error.ctx else "speedproof"
    return f"{text}{' See' if text.endswith('?') else '; see'} '{path} --help'"


def _near(word: str, known: Sequence[str]) -> str:
    """The nearest name, else one that begins alike; none where all are far."""
    bare = {name.lstrip("-"): name for name in known}
    word = word.lstrip("-")
    begins = [name for name in bare if name.startswith(word[:3])]
    near = difflib.get_close_matches(word, bare, 1, _NEAR) or difflib.get_close_matches(word, begins, 1, 0)
    return f"; did you mean {bare[near[0]]}?" if word and near else ""


def unknown_command(name: str, known: Sequence[str], ctx: click.Context) -> click.UsageError:
    """The error of a command that there is not."""
    return click.UsageError(f"unknown command {name}{_near(name, known)}", ctx)
