"""What a command is: click's, with options in named groups, examples as written, errors in one line.

A module of this package declares a subclass of :class:`speedproof.options.CommandOptions`, whose docstring is
the command's help and whose fields are its options, a function ``run(asked, console) -> int``, and ``COMMAND``,
which is made of both (of several commands ``COMMANDS``, where ``main`` says so); its one-line help stands in
:data:`speedproof.cli.main.COMMANDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import cleandoc, get_annotations
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_origin

import click
from click.core import ParameterSource

import speedproof as sp
from speedproof import declaring
from speedproof.cli.console import Console
from speedproof.declaring import Field, Formats, fields, words_of

if TYPE_CHECKING:
    from msgspec import Struct

    from speedproof.options import CommandOptions
    from speedproof.reporting.model import ReportFormat


_NEAR = 0.66
_WHOLE = declaring.Taken()
_PATHS = frozenset(["DIR", "FILE", "PATH"])
_MAYBE_FILE, _MAYBE_SHELL = "[FILE]", "[=SHELL]"
_SHELLS = frozenset(["ash", "bash", "csh", "dash", "fish", "ksh", "sh", "tcsh", "zsh"])
_MANY = 40
"""More options and arguments than this are not all in a command's help."""
_ALL = "speedproof.all options"


A = TypeVar("A", bound="CommandOptions")


class _Parsed(click.ParamType):  # type: ignore[type-arg]  # which not every version of click has
    """A value that a function makes of the text; a ValueError says what is wrong."""

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self.name = parse.__name__
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._parse(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _Chosen(click.Choice[str]):
    """One of some words, and what is made of it."""

    def __init__(self, words: Sequence[str], parse: Callable[[str], Any]) -> None:
        self._meant = {word.replace(" ", "-"): word for word in words}
        super().__init__(self._meant)
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self._parse(self._meant[super().convert(value, param, ctx)])


def _readers() -> click.Choice[str]:
    """The formats by name; the readers are imported when one is given."""
    return click.Choice([f.name for f in sp.formats.FORMATS])


def _format(text: str) -> str:
    return _readers()(text)


def _complete_format(*incomplete: Any) -> Any:
    return _readers().shell_complete(*incomplete)


def _file(text: str) -> str:
    """An input file; ``@last`` is the latest session, also in ``NAME=@last`` and ``@last:VERSION``."""
    before, latest, after = text.partition(declaring.LATEST)
    if latest and before[-1:] in ("", "=") and after[:1] in ("", ":"):
        from speedproof.api.run_plan import latest_session

        what = "bisect" if click.get_current_context().info_name == "bisect" else "run"
        return f"{before}{latest_session(what)}{after}"
    return text


_PLACE: dict[str, Any] = {"type": click.STRING, "shell_complete": click.Path().shell_complete}
"""A path; whoever reads or writes it reports what is wrong with it."""
_READ = {**_PLACE, "type": _Parsed(_file)}


class ClickArgument(click.Argument):
    """A positional argument."""

    group = "arguments"

    def __init__(self, field: Field, asked: declaring.Argument) -> None:
        words = words_of(field.kind)
        many = get_origin(field.kind) is tuple
        place = _READ if "FILE" in asked.metavar else _PLACE
        super().__init__(
            [field.name],
            metavar=asked.metavar or None,
            nargs=-1 if many else 1,
            required=field.required,
            **({"type": click.Choice(words)} if words else place if asked.is_file else {}),
        )
        self.explained = asked.help

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """The line in the list of options."""
        return self.make_metavar(ctx), self.explained


class ClickOption(click.Option):
    """An option with the title of its group."""

    def __init__(
        self,
        name: str,
        asked: declaring.Option,
        kind: Any = str,
        default: Any = None,
        *,
        required: bool = False,
        group: str = "options",
        **more: Any,
    ) -> None:
        metavar, parse = asked.metavar, asked.parser
        words = [] if metavar and parse else words_of(kind)
        if words:
            more["type"] = _Chosen(words, asked.parse or str)
        elif parse is not None:
            more["type"] = _Parsed(parse)
        elif name == "format":
            more |= {"type": _Parsed(_format), "shell_complete": _complete_format}
        elif metavar == _MAYBE_FILE:
            more |= {**_READ, "flag_value": declaring.LATEST}
        elif metavar in _PATHS:
            more |= _PLACE
        super().__init__(
            [name, *(asked.names or [f"--{name.replace('_', '-')}"])],
            help=asked.help,
            metavar=metavar or None,
            nargs=max(len(metavar.split()), 1),
            multiple=get_origin(kind) is tuple,
            is_flag=kind is bool or (False if "flag_value" in more else None),
            **({"required": True} if required else {"default": default}),
            **more,
        )
        self.group, self.first = group, asked.first
        self.excludes = asked.excludes.split()
        self.needs = asked.needs

    @property
    def long(self) -> str:
        """The name of the option in messages."""
        return next((o for o in self.opts if o.startswith("--")), self.opts[0])


def _params(
    kind: type[Struct], group: declaring.Taken = _WHOLE, title: str = "options"
) -> Iterator[ClickArgument | ClickOption]:
    """The parameters that a command takes from a struct, grouped by title; inherited ones come last."""
    bases = [get_annotations(base) for base in kind.__mro__]
    for field in sorted(fields(kind), key=lambda f: [f.name in names for names in bases].index(True)):
        asked = field.asked
        if field.struct is not None:
            inner = _group_of(field)
            for param in _params(field.struct, inner, inner.title or field.name):
                title = param.group
                yield param
        elif isinstance(asked, declaring.Argument):
            yield ClickArgument(field, asked)
        elif isinstance(asked, Formats):
            for name, report_format in _formats().items():
                if group.takes(name):
                    text = f"write {group.help.get(name, report_format.help)}; - is standard output"
                    option = declaring.Option(text, f"--{name} FILE", first=name in asked.first.split())
                    yield ClickOption(name, option, group=title)
        elif isinstance(asked, declaring.Option):
            title = asked.title or title  # also that of an option which is left out begins its group
            if group.takes(field.name):
                asked = asked._replace(help=group.help.get(field.name, asked.help))
                name, required = field.name, field.required
                yield ClickOption(name, asked, field.kind, field.default, required=required, group=title)


def _formats() -> Mapping[str, ReportFormat]:
    from speedproof.reporting.model import FORMATS

    return FORMATS


def _group_of(field: Field) -> declaring.Taken:
    return field.asked if isinstance(field.asked, declaring.Taken) else _WHOLE


S = TypeVar("S", bound="Struct")


def _made(kind: type[S], given: Mapping[str, Any], group: declaring.Taken = _WHOLE) -> S:
    """Build a struct from parsed values; fields that the command does not take keep their defaults."""
    made: dict[str, Any] = {}
    for field in fields(kind):
        if field.struct is not None:
            made[field.name] = _made(field.struct, given, _group_of(field))
        elif isinstance(field.asked, Formats):
            made[field.name] = {name: given[name] for name in _formats() if given.get(name) is not None}
        elif field.name in given and group.takes(field.name):
            made[field.name] = given[field.name]
    return kind(**made)


def _show_help(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        console: Console = ctx.obj
        console.out.write(ctx.get_help() + "\n")
        ctx.exit()


def _show_all_help(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.meta[_ALL] = value
    _show_help(ctx, param, value)


def _set_colour(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None and isinstance(ctx.obj, Console):
        ctx.obj.choose_colour(value)


def common() -> list[ClickOption]:
    """The options of every command and of the program itself."""
    colour = declaring.Option("colour: auto (default: on a terminal), always or never")
    return [
        eager("color", colour, _set_colour, Literal["auto", "always", "never"], None),
        eager("help", declaring.Option("show this help", "--help, -h", first=True), _show_help),
    ]


def eager(
    name: str, asked: declaring.Option, heed: Callable[..., None], kind: Any = bool, default: Any = False
) -> ClickOption:
    """An option that is handled before all others and has no value."""
    return ClickOption(name, asked, kind, default, expose_value=False, is_eager=True, callback=heed)


class Command(click.Command, Generic[A]):
    """A command."""

    def __init__(
        self,
        kind: type[A],
        run: Callable[[A, Console], int],
        help: str = "",
    ) -> None:
        description, _, examples = cleandoc(help or kind.__doc__ or "").partition("\n\n    ")
        examples = "\n".join(line[2:] for line in f"    {examples}".split("\n")) if examples else ""
        super().__init__(
            None,
            help=" ".join(description.split()),
            epilog=f"examples:\n{examples}" if examples else None,
            params=[*sorted(_params(kind), key=lambda p: isinstance(p, ClickOption)), *common()],
        )
        self._short = len(self.params) > _MANY
        if self._short:
            whole = declaring.Option("show all options", first=True)
            self.params.append(eager("help_all", whole, _show_all_help))
        self._kind, self._run = kind, run

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, but name the command in errors; ``words`` are those after ``--``."""
        words: tuple[str, ...] = ()
        if "words" in self._kind.__struct_fields__ and "--" in args:
            at = args.index("--")
            args, words = args[:at], tuple(args[at + 1 :])
        try:
            left = super().parse_args(ctx, self._with_values(args))
        except click.BadOptionUsage as error:
            error.ctx = error.ctx or ctx
            raise
        ctx.params["words"] = words
        return left

    def _with_values(self, args: list[str]) -> list[str]:
        """Every value with its option where click has no such: ``A B...`` takes all words, ``[=SHELL]`` few."""
        metavars = {
            name: p.metavar or "" for p in self.params if isinstance(p, ClickOption) for name in p.opts
        }
        written, many = list[str](), ""
        for word, following in pairwise([*args, "--"]):
            metavar = metavars.get(word, "")
            if word.startswith("-"):
                many = word if metavar.endswith("...") else ""
            if many and word == many and following.startswith("-"):
                raise click.BadOptionUsage(word, f"option '{word}' requires an argument")
            if metavar == _MAYBE_SHELL and following.rpartition("/")[2] not in _SHELLS:
                word += "=sh"
            if not many or word != many:
                written.append(f"{many}={word}" if many else word)
        return written

    def asked_of(self, ctx: click.Context) -> A:
        """The struct that is passed to the command's function."""
        options = [p for p in self.params if isinstance(p, ClickOption) and p.name]
        source = ctx.get_parameter_source
        given = {
            str(p.name): p.opts[0] for p in options if source(str(p.name)) is ParameterSource.COMMANDLINE
        }
        declaring.exclusive({str(p.name): p.excludes for p in options}, given)
        for p in (p for p in options if p.name in given):
            if p.needs and not any(ctx.params.get(name, True) for name in p.needs.split()):
                needed = next(
                    " ".join(filter(None, [o.long, o.metavar])) for o in options if o.name in p.needs.split()
                )
                raise click.UsageError(f"{p.long} needs {needed}; give that, too", ctx)
        return _made(self._kind, {**ctx.params, "given": given, "argv": ctx.meta.get("argv", [])})

    def invoke(self, ctx: click.Context) -> int:
        """Hand the values to the command's function; its result is the exit code."""
        return self._run(self.asked_of(ctx), ctx.obj)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Arguments, then each group of options under its title; of many options, those that are used first."""
        groups: dict[str, list[tuple[str, str]]] = {}
        short = self._short and not ctx.meta.get(_ALL)
        for p in self.params:
            if short and isinstance(p, ClickOption):
                if p.first:
                    groups.setdefault("options", []).append(p.get_help_record(ctx) or ("", ""))
            elif (record := p.get_help_record(ctx)) is not None:
                groups.setdefault(getattr(p, "group", "options"), []).append(record)
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
        self, description: str, examples: str, actions: Mapping[str, Command[Any]], usual: str = ""
    ) -> None:
        """``usual`` is the default action."""
        super().__init__(
            commands=dict(actions),
            help=description,
            epilog=f"examples:\n{examples}",
            params=common(),
            subcommand_metavar="ACTION ...",
        )
        for name, action in actions.items():
            lines = [line for line in examples.split("\n") if line.split()[2:3] == [name]]
            action.epilog = action.epilog or ("\n".join(["examples:", *lines]) if lines else None)
        self.actions = actions
        self.usual = usual

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The actions, in the order in which they are declared."""
        return list(self.actions)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default action where only options are given."""
        if (
            not ctx.resilient_parsing
            and (not args or args[0].startswith("-"))
            and args[:1] not in (["-h"], ["--help"])
        ):
            if not self.usual:
                raise click.UsageError(f"name an action first: {', '.join(self.actions)}", ctx)
            params = (p for p in self.actions[self.usual].params if getattr(p, "is_flag", False))
            flags = {name for param in params for name in param.opts}
            pairs = [(before, word) for before, word in pairwise(args) if word in self.actions]
            if late := [word for before, word in pairs if before[:1] != "-" or before in flags]:
                raise click.UsageError(f"name the action first: {ctx.command_path} {late[0]}", ctx)
            args = [self.usual, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """An action by its name."""
        if args[0] not in self.actions and not ctx.resilient_parsing:
            meant = _near(args[0], list(self.actions)) or f"; choose one of {', '.join(self.actions)}"
            raise click.UsageError(f"{args[0]}: no such action{meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Every action with what it takes and does, then the options."""
        rows = []
        for name, action in self.actions.items():
            taken = (p.make_metavar(ctx) for p in action.params if isinstance(p, click.Argument))
            rows.append((" ".join([name, *taken]), action.get_short_help_str(60)))
        with formatter.section("actions"):
            formatter.write_dl(rows)
        with formatter.section("options"):
            formatter.write_dl([r for p in self.params if (r := p.get_help_record(ctx)) is not None])
        formatter.write(f"\nOptions of an action: {ctx.command_path} ACTION --help\n")


def said(error: click.UsageError) -> str:
    """A command-line error in one line, with a suggestion if a name is close."""
    path = error.ctx.command_path if error.ctx else "speedproof"
    if isinstance(error, click.NoSuchOption):
        from speedproof.reporting.model import FORMATS  # not for the help alone
        from speedproof.reporting.stored import COMPARING

        name = error.option_name
        stored = path.removeprefix("speedproof ") in COMPARING and name.lstrip("-") in FORMATS
        later = f"; write --json, then: speedproof report RESULTS.json {name}" * stored
        params = error.ctx.command.params if error.ctx else []
        options = [o for p in params if isinstance(p, ClickOption) for o in p.opts]
        late = "; options follow the command" * isinstance(error.ctx and error.ctx.command, click.Group)
        text = f"unknown option {name}{_near(name, options) or late or later}"
    else:
        text = " ".join(error.format_message().split()).rstrip(".")
        text = text[:1].lower() + text[1:]
        if (
            isinstance(error, click.BadOptionUsage)
            and error.option_name == "--json"
            and "take a value" in text
        ):
            text += ": JSON goes to standard output (--json > FILE)"
    return f"{text}{' See' if text.endswith('?') else '; see'} '{path} --help'"


def _near(word: str, known: Sequence[str]) -> str:
    """The closest name, or one with the same beginning; empty if none is close."""
    import difflib  # not for the help alone

    bare = {name.lstrip("-"): name for name in known}
    word = word.lstrip("-")
    begins = [name for name in bare if name.startswith(word[:3])]
    close = difflib.get_close_matches
    near = close(word, bare, cutoff=_NEAR) or close(word, begins, cutoff=0)
    return f"; did you mean {bare[near[0]]}?" if len(word) > 1 and near else ""


def unknown_command(name: str, known: Sequence[str], ctx: click.Context) -> click.UsageError:
    """The error for an unknown command."""
    from pathlib import Path

    meant = f"; did you mean compare {name}?" if Path(name).exists() else _near(name, known)
    return click.UsageError(f"unknown command {name}{meant}", ctx)
