"""Arguments of public functions held against their annotations: what is of a wrong type is told in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from functools import cache, wraps
from itertools import takewhile
from reprlib import repr as shortened
from types import GenericAlias, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    ParamSpec,
    SupportsFloat,
    SupportsIndex,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from speedproof.errors import Parameter, UsageError

if TYPE_CHECKING:
    import inspect

P = ParamSpec("P")
R = TypeVar("R")
_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "True or False", NoneType: "None"}
_NEAR = 0.66
_LEAST = {
    "bootstrap": (0, "a number of samples, or 0 for no test"),
    "jobs": (1, "a number of threads, at least 1"),
    "last": (1, "how many, at least 1"),
    "looks": (1, "how many looks there are, at least one"),
    "max_pairs": (1, "at least one pair of runs"),
    "seed": (0, "a whole number, 0 or more"),
    "workers": (1, "a number of processes, at least 1"),
    "warmup": (0, "a number of runs, 0 or more, or None until they are steady"),
}


def checked(*unchecked: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Refuse arguments of wrong types before a function meets them, but for those that it looks at itself."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        code = function.__code__
        free = len(list(takewhile(unchecked.__contains__, code.co_varnames[: code.co_argcount])))

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if len(args) <= free and not kwargs:
                return function(*args, **kwargs)
            signature, hints = _hints(function)
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:  # which the call itself says better
                if "alpha" in kwargs and "confidence" in signature.parameters:
                    risk = repr(kwargs["alpha"])
                    raise UsageError(f"alpha={risk}: give its complement, such as confidence=0.95") from None
                from difflib import get_close_matches  # not for calls as they should be

                name = next(iter(signature.parameters), "")
                if args and name not in unchecked and name in hints and not _fits(args[0], hints[name]):
                    _refuse(name, args[0], hints[name])
                for name in kwargs.keys() - signature.parameters.keys():
                    for near in get_close_matches(name, signature.parameters, 1, _NEAR):
                        raise UsageError(f"{name}=: no such argument; do you mean {near}=?") from None
                return function(*args, **kwargs)
            given = bound.arguments
            for name, hint in hints.items():
                if name in given and name not in unchecked and hint is not Any:
                    if getattr(given[name], "shape", None) == () and hasattr(given[name], "item"):
                        given[name] = given[name].item()  # a scalar of NumPy
                    if _is_share(hint):  # a number or a percentage, parsed later with a better message
                        if given[name] is None and NoneType not in get_args(hint):
                            raise UsageError(f"{name}=None is not a number")
                    elif not _fits(given[name], hint):
                        _refuse(name, given[name], hint)
            for name, (least, what) in _LEAST.items():
                if isinstance(given.get(name), int) and given[name] < least:
                    raise UsageError(Parameter(name, given[name]), f": expected {what}")
            return function(*bound.args, **bound.kwargs)

        return call

    return decorate


@cache
def _hints(function: Callable[..., object]) -> tuple[inspect.Signature, dict[str, Any]]:
    """The annotations of each parameter, as far as they resolve without further imports."""
    import inspect

    signature = inspect.signature(function)
    hints: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind is not parameter.VAR_KEYWORD:
            with suppress(NameError, TypeError):
                hint = eval(parameter.annotation, function.__globals__)
                if parameter.kind is parameter.VAR_POSITIONAL:
                    hint = GenericAlias(tuple, (hint, ...))
                hints[name] = hint
    return signature, hints


def _is_share(hint: Any) -> bool:
    return float in get_args(hint) and str in get_args(hint)


def _fits(value: object, hint: Any) -> bool:
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if kind is Any:
        return True
    if kind is Literal:
        return isinstance(value, str) and value in parts
    if kind is int:
        return isinstance(value, SupportsIndex) and not isinstance(value, bool)
    if kind is float:
        return (
            isinstance(value, SupportsFloat) and not isinstance(value, bool) and not getattr(value, "ndim", 0)
        )
    if kind is Callable:
        return callable(value)
    if kind in (Sequence, Iterable, tuple):
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            return False
        if isinstance(value, Set) and kind is not Iterable:  # it has no order
            return False
        return not (parts and isinstance(value, Sequence)) or all(_fits(one, parts[0]) for one in value)
    return not isinstance(kind, type) or isinstance(value, kind)


def _refuse(name: str, value: object, hint: Any) -> None:
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    words = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
    for one in value if isinstance(value, list | tuple) else (value,):
        if words and (isinstance(one, str) or len(parts) == 1):
            one_of(name, one, words)
    if _name(hint) == "Suite":
        made = f"sp.read({value!r})" if isinstance(value, str) else "sp.read(...), sp.Suite.from_frame(...)"
        raise UsageError(
            f"{name}={shortened(value)}: expected a suite; make one with {made}"
            + ("" if isinstance(value, str) else " or sp.Suite.of_samples(...)")
        )
    expected = [*map(repr, words), *(_in_words(part) for part in parts if get_origin(part) is not Literal)]
    meant = f"; do you mean {str(value)!r}?" if type(value) is int and str in parts else ""
    raise UsageError(f"{name}={shortened(value)}: expected {' or '.join(dict.fromkeys(expected))}{meant}")


def _in_words(hint: Any) -> str:
    """The expected type, in words."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in _WORDS:
        return _WORDS[kind]
    if kind is Callable:
        return "a function"
    if kind in (Sequence, Iterable, tuple):
        return f"a list of {_in_words(parts[0]).removeprefix('a ')}s" if parts[0] in _WORDS else "a list"
    if kind is Mapping:
        return "a mapping of names"
    return "a path" if _name(kind) in ("PathLike", "Path") else f"a {_name(kind)}"


def _name(hint: Any) -> str:
    return str(getattr(hint, "__name__", hint))


def one_of(name: str, given: Any, choices: Iterable[object]) -> None:
    """Refuse what is none of the known choices."""
    words = list(choices)
    if given not in words:
        raise UsageError(
            f"{name}={given!r}: there is no such choice; choose one of {', '.join(repr(str(w)) for w in words)}"
        )
