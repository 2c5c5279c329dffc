"""How a field of a struct says in which words it is asked for; importing this takes no time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar, get_args, get_origin

from speedproof import values
from speedproof.errors import FormatError, Parameter, UsageError

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from msgspec import Struct


class Option(NamedTuple):
    """A command-line option: ``Annotated[int, "-j, --jobs N", "threads", parser]``.

    Of the texts the last is the help; one before it has names, where they are not the field's, and what stands for
    the value. The type of the field says the rest: a bool is a flag, a tuple may be repeated, a Literal is a
    choice; what has no default must be given.
    """

    help: str
    usage: str = ""
    parse: Callable[[str], object] | None = None  # by default as what stands for the value says (KINDS)
    title: str = ""  # of the group that it opens
    needs: str = ""  # the field of an option that must be given, too
    excludes: str = ""  # the fields of options that must not
    first: bool = False  # whether the help of a command with many options shows it; --help-all shows all

    @property
    def names(self) -> list[str]:
        """The names of the option, if they are not derived from the field."""
        return [word.rstrip(",") for word in self.usage.split() if word.startswith("-")]

    @property
    def metavar(self) -> str:
        """The value's placeholder; several words mean several values, none a flag or a choice."""
        return " ".join(word for word in self.usage.split() if not word.startswith("-"))

    @property
    def parser(self) -> Callable[[str], object] | None:
        """The function that parses the value."""
        return self.parse or KINDS.get(self.metavar)


FIRST: Final = True
"""Marks the most common options, which the short help of a large command also shows."""


def _more(field: str, value: str) -> tuple[str, str]:
    """A further attribute of an option: one of the fields above."""
    return field, value


Title = partial(_more, "title")
"""Starts an option group with this title."""
Needs = partial(_more, "needs")
"""The option that must also be given."""
Excludes = partial(_more, "excludes")
"""The options that must not be given together with this one."""


class Argument(NamedTuple):
    """A positional argument: one file, or several if the field is a tuple."""

    metavar: str
    help: str
    is_file: bool = True


class Formats(NamedTuple):
    """Output files by report format, with one option for each format."""

    first: str = "html"  # those that everybody uses first


class Taken:
    """Which fields of a struct a command takes, under which title, with help texts of its own."""

    def __init__(self, title: str = "", take: str = "", leave: str = "", **help: str) -> None:
        self.title, self.take, self.leave, self.help = title, take.split(), leave.split(), help

    def takes(self, name: str) -> bool:
        """Whether a field is an option of the command."""
        return name not in self.leave and (not self.take or name in self.take)


class Field(NamedTuple):
    """A field of a struct as it is declared."""

    name: str
    kind: Any  # its type
    asked: Option | Argument | Formats | Taken | None  # how it is asked for, where that is declared
    default: Any
    required: bool  # it has no default

    @property
    def struct(self) -> type[Struct] | None:
        """The struct that it holds, where it holds one."""
        return self.kind if hasattr(self.kind, "__struct_fields__") else None


def fields(kind: type[Struct]) -> Iterator[Field]:
    """The fields of a struct, in order."""
    from msgspec import NODEFAULT

    hints: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        annotations = get_annotations(base)
        postponed = any(isinstance(hint, str) for hint in annotations.values())
        hints |= get_annotations(base, eval_str=True) if postponed else annotations
    names, defaults = kind.__struct_fields__, kind.__struct_defaults__
    before = (NODEFAULT,) * (len(names) - len(defaults))
    for name, default in zip(names, (*before, *defaults), strict=True):
        hint = hints[name]
        metadata = getattr(hint, "__metadata__", ())
        asked = (
            _option(metadata) if any(type(part) is str for part in metadata) else next(iter(metadata), None)
        )
        yield Field(name, hint.__origin__ if metadata else hint, asked, default, default is NODEFAULT)


def _option(metadata: Sequence[Any]) -> Option:
    *usage, text = (part for part in metadata if type(part) is str)
    more: dict[str, str] = dict(part for part in metadata if isinstance(part, tuple))
    parse = next((part for part in metadata if callable(part)), None)
    return Option(text, "".join(usage), parse, **more, first=FIRST in metadata)


LATEST = "@last"
"""The placeholder for the latest session's file."""


def refuse(given: Mapping[str, str], *names: str, because: str) -> None:
    """Refuse these options where they would have no effect, for the reason ``because``."""
    if needless := [given[name] for name in names if name in given]:
        raise UsageError(f"{because}; leave out {', '.join(needless)}")


def exclusive(excludes: Mapping[str, Sequence[str]], given: Mapping[str, str]) -> None:
    """Refuse options that exclude each other, of those given as they were written."""
    for name in given:
        if others := [given[other] for other in excludes.get(name, ()) if other in given]:
            raise UsageError(f"{given[name]} and {', '.join(others)} exclude each other")


def words_of(kind: Any) -> list[str]:
    """The allowed words of a field: of a Literal or an enum."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(member.value) for member in kind]
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    return [word for part in get_args(kind) for word in words_of(part)]


KINDS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(["SHARE", "P", "R"], values.proportion),
    "C": values.share,
    **dict.fromkeys(["K", "N", "SEED", "THREADS"], values.whole),
    "FACTOR": values.positive,
    "LEVEL": values.level,
    "Q": values.quantile,
    "RISK": values.risk,
    "S": values.seconds,
}
"""The parser of what stands for a value in the help of an option."""

EXAMPLES = {"LEVEL": '0.95 or "95%"', "Q": '0.99 or "99%"', "SHARE": '0.02 or "2%"'}
"""How Python and settings write such a value."""


T = TypeVar("T")


def read_given(name: str, value: Any, example: str, parse: Callable[[Any], T]) -> T:
    """Parse the value of an argument; a UsageError says what is wrong."""
    try:
        return parse(value)
    except (ValueError, TypeError) as error:
        remedy = f"; give {example}" if example and not str(error).endswith("?") else ""
        raise UsageError(Parameter(name, None, f"{name.replace('_', '-')} "), f"{error}{remedy}") from None


def check_place(path: str | os.PathLike[str], option: str = "") -> None:
    """Refuse a place that no file can have, as an option names it."""
    from pathlib import Path  # not for the help alone

    if Path(path).is_dir():
        raise UsageError(f"{option}{path}: is a folder; name a file in it")
    if not (folder := Path(path).parent).is_dir():
        raise UsageError(f"{option}{path}: there is no folder {folder}; make it first")


def proportion_given(
    name: str,
    given: object,
    example: str = EXAMPLES["SHARE"],
    kind: Callable[[object], float] = values.proportion,
) -> float:
    """Parse an argument as a share."""
    return read_given(name, given, example, kind)


S = TypeVar("S", bound="Struct")
_TABLE = "must be a table of names and values"


def read_toml(kind: type[S], path: Path) -> S:
    """Read a file strictly into a struct; errors name the file and the key."""
    import tomllib  # few commands read any

    name = str(path)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise FormatError(name, f"byte {error.start + 1}", "not TOML, which is UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FormatError(name, "", f"not TOML: {error}") from None
    return _table(kind, name, "", document)


def _table(kind: type[S], file: str, place: str, table: object) -> S:
    """Convert a table field by field; an unknown key is refused."""
    if not isinstance(table, dict):
        raise FormatError(file, place, f"{_TABLE}, not {table!r}")
    by_key = {field.name: field for field in fields(kind)}
    prefix = f"{place}." if place else ""
    for key in table:
        if key not in by_key:
            from difflib import get_close_matches

            near = get_close_matches(key, by_key)
            hint = f"did you mean {near[0]!r}?" if near else f"available: {', '.join(by_key)}"
            raise FormatError(file, f"{prefix}{key}", f"no such key; {hint}")
    for key in (key for key, field in by_key.items() if field.required and key not in table):
        raise FormatError(file, place, f'a {key} is missing, for example {key} = "json_*"')
    values = {}
    for key, value in table.items():
        asked = by_key[key].asked
        option = asked if isinstance(asked, Option) else None
        values[key] = read_value(by_key[key].kind, file, f"{prefix}{key}", value, option)
    return kind(**values)


def read_value(kind: Any, file: str, place: str, value: object, option: Option | None = None) -> Any:
    """Convert a value to the type of its field; numbers in a list of texts become texts."""
    if hasattr(kind, "__struct_fields__"):
        return _table(kind, file, place, value)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Mapping:
        if not isinstance(value, dict):
            raise FormatError(file, place, f"{_TABLE}, not {value!r}")
        return {key: read_value(parts[1], file, f"{place}.{key}", item) for key, item in value.items()}
    if origin is tuple:
        if not isinstance(value, list) or not value:
            raise FormatError(file, place, f"write [[{place}]], in double brackets")
        named = enumerate(value, start=1)
        return tuple(read_value(parts[0], file, f"{place}[{number}]", item) for number, item in named)
    if origin is list:
        if not isinstance(value, list) or not value:
            raise FormatError(file, place, f"must be a list of values, such as [10, 1000], not {value!r}")
        for number, item in enumerate(value):
            if isinstance(item, bool) or not isinstance(item, str | int | float):
                must = f"must be a number or a text in quotes, not {item!r}"
                raise FormatError(file, f"{place}[{number}]", must)
        return [str(item) for item in value]
    try:
        return _scalar(kind, value, option)
    except ValueError as error:
        raise FormatError(file, place, str(error)) from error


def _scalar(kind: Any, value: Any, option: Option | None) -> object:
    parse = option and option.parser
    if words := words_of(kind):
        if value not in words:
            raise ValueError(f"{value!r} is none of {', '.join(words)}")
        return parse(value) if parse else value
    if option and option.usage:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"{value!r} is not a number; write {EXAMPLES[option.usage]}")
        return parse(str(value)) if parse else value
    if kind is str and not isinstance(value, str):
        raise ValueError(f"must be a text in quotes, not {value!r}")
    if bool in (kind, *get_args(kind)) and not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value
