"""A parser that says what is wrong in one line, as every other error of the program is said."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from typing import Any, NoReturn

from speedproof.report.blocks import visible

__all__ = ["Parser"]


class Parser(argparse.ArgumentParser):
    """Makes the parsers of the commands, too: argparse gives them the class of the first.

    argparse would print all options before the message, which scrolls away what was typed.
    """

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Nothing is left over: what a command does not know it refuses itself, naming its own help."""
        namespace, extra = super().parse_known_args(args, namespace)
        self.refuse(extra)
        return namespace, []

    def refuse(self, words: Sequence[str]) -> None:
        """End the program if there are words that mean nothing."""
        if not words:
            return
        near = difflib.get_close_matches(words[0].partition("=")[0], self._option_string_actions, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        self.error(f"unrecognized arguments: {' '.join(words)}{hint}")

    def error(self, message: str) -> NoReturn:
        """End the program with exit code 2."""
        self.exit(2, f"speedproof: error: {visible(message)}; see '{self.prog} --help'\n")
