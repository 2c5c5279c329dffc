"""What is a shell's own in a command, against a shell: where it finds nothing to do, ours must agree."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speedproof.measuring.plan import shell_syntax


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("./a | cat", "|"),
        ("./a|cat", "|"),
        ("./a |& cat", "|&"),
        ("./a || true", "||"),
        ("./a && true", "&&"),
        ("./a &", "&"),
        ("./a ; ./b", ";"),
        ("./a < in", "<"),
        ("./a > /dev/null", ">"),
        ("./a >> log", ">>"),
        ("./a 2>&1", "2>&1"),
        ("./a 2>/dev/null", "2>"),
        ("./a &> log", "&>"),
        ("./a <<< x", "<<<"),
        ("./a $HOME", "$HOME"),
        ("./a --n=${N}", "${N}"),
        ("./a $(seq 3) x", "$(seq 3)"),
        ("./a `seq 3` x", "`seq 3`"),
        ("./a $1", "$1"),
        ("./a ~/data", "~/data"),
        ("~/bin/a x", "~/bin/a"),
        ("cd ~", "~"),
        # A quote ends, and what follows is the shell's again.
        ("./a 'x'|cat", "|"),
        ('./a "x"$HOME', "$HOME"),
        (r"./a \\$HOME", "$HOME"),
    ],
)
def test_what_only_a_shell_knows(text: str, piece: str) -> None:
    assert shell_syntax(text) == piece


@pytest.mark.parametrize(
    "text",
    [
        "sort -k 2,2 file",
        "awk '{print $1}' file",
        "sh -c 'a | b && c > d'",
        'sh -c "a | b"',
        r"find . -name x \;",
        r"echo \$HOME \| \~/x",
        "grep ^a$ file",
        "git show HEAD~ HEAD~/x",
        "tool a2b x=~ {n} {a,b} %d @f #1 !x",
        "sort 'x | y'",
        "",
    ],
)
def test_what_is_quoted_or_plain_passes(text: str) -> None:
    assert shell_syntax(text) == ""


def test_patterns_that_match_a_file_are_the_shells(tmp_path: Path) -> None:
    """As in sh, a pattern that nothing matches stays as it is; names with a dot in front are not matched."""
    for name in ("a.txt", "b c.txt", "[x]", ".hidden"):
        (tmp_path / name).touch()
    for text, piece in (
        ("sort *.txt", "*.txt"),
        ("sort ?.txt", "?.txt"),
        ("sort x [ab].txt y", "[ab].txt"),
        ("sort 'b c'.*", "'b c'.*"),
        ("sort *.csv", ""),
        ("sort '*.txt'", ""),
        (r"sort \*.txt", ""),
        ("sort '['x].*", ""),
        ("sort ?hidden", ""),
        ("*.txt", "*.txt"),
        ("*.txt x", "*.txt"),
        ("*.csv *.txt", "*.txt"),
        ("a.txt [x] x", ""),
        ("a.txt", ""),
        ("x* a.txt", ""),
    ):
        assert shell_syntax(text, str(tmp_path)) == piece, text
    assert shell_syntax("sort *.txt", str(tmp_path / "nowhere")) == ""
    assert shell_syntax(f"sort {tmp_path}/*.txt") == f"{tmp_path}/*.txt"


@given(
    st.lists(
        st.sampled_from(
            [
                "a",
                "2",
                " ",
                " ",
                "'",
                '"',
                "\\",
                "|",
                "&",
                ";",
                "<",
                ">",
                "$",
                "HOME",
                "`",
                "~",
                "/",
                "*",
                "?",
                "=",
            ]
        ),
        max_size=8,
    )
)
def test_against_sh(parts: list[str]) -> None:
    """Where nothing is found, sh makes the same words of the text as splitting does.

    Substitutions inside double quotes are meant to pass, and the words of shlex keep a backslash there.
    """
    text = "x " + "".join(parts)
    try:
        words = shlex.split(text)
    except ValueError:
        return
    if shell_syntax(text, "/nowhere") or '"' in text:
        return
    shell = subprocess.run(
        ["sh", "-fc", f"printf '%s\\0' {text}"], capture_output=True, text=True, cwd="/", check=False
    )
    assert shell.returncode == 0, text
    assert shell.stdout.split("\0")[:-1] == words
