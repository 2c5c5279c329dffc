"""Make pictures of what commands show, from real sessions in a real terminal.

``python docs/terminal.py [run] [bisect] [reading]`` runs real programs under tmux, takes the screen while they
are measured and when they are done, and writes docs/pictures/run.svg and bisect.svg. ``reading`` numbers the parts
of a sheet. It needs tmux, git, make, a C compiler and the coreutils.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from demo_repository import make
from rich.console import Console
from rich.text import Text

COLUMNS = 112
SOCKET = f"picture-{os.getpid()}"
PICTURES = Path(__file__).with_name("pictures")
RUN = "speedproof run --precision 2% 'sha256sum numbers.txt' 'sha512sum numbers.txt'"
REVISIONS = "speedproof run --revisions v1.2 main --build make -- ./words"
# How the lines begin that the page on reading a sheet explains.
NUMBERED = {
    "level-5 against": "①", "command": "②", "FILE=table": "③", "FILE=noise": "④", "Geometric": "⑤",
    "At a joint": "⑥", "--details": "⑦",
}  # fmt: skip
BISECT = "speedproof bisect v1.2..main --build make ./words"


def tmux(*words: str) -> str:
    """What a command of tmux prints."""
    return subprocess.run(["tmux", "-L", SOCKET, *words], check=True, capture_output=True, text=True).stdout


def screen() -> str:
    """The screen with its colours, without what is said of the machine and its folders."""
    shown = tmux("capture-pane", "-e", "-p", "-t", "picture").rstrip()
    return re.sub(r"(?m)^.*(?:note:|/sessions/).*\n(?:  .*\n)*", "", shown)  # what goes on is indented


def session(folder: str, command: str) -> tuple[str, str]:
    """The screen while a command measured, and at its end."""
    path = f"{Path(sys.executable).parent}:$PATH"
    place = shlex.quote(folder)
    folders = f"XDG_CACHE_HOME={place}/../cache XDG_STATE_HOME={place}/../state"
    start = f"cd {place}; export {folders} PATH={path} PS1=; clear; {command}; echo DONE"
    tmux("new-session", "-d", "-s", "picture", "-x", str(COLUMNS), "-y", "60", "sh")
    try:
        tmux("send-keys", "-t", "picture", start, "Enter")
        during = ""
        for _ in range(2000):
            time.sleep(0.3)
            seen = screen()
            if seen.endswith("DONE"):
                break
            if "to go" in seen:
                during = seen
        return during, seen.replace("DONE", "").rstrip()
    finally:
        tmux("kill-server")
        time.sleep(1)  # until its socket has gone


def draw(name: str, parts: list[str | Text], width: int = COLUMNS, title: str = "") -> None:
    """A terminal with these texts, as a picture."""
    console = Console(
        record=True, width=width, file=io.StringIO(), color_system="truecolor", force_terminal=True
    )
    for part in parts:
        console.print(part if isinstance(part, Text) else Text.from_ansi(part))
    # Any fixed-width font will do: a picture must not send its readers to another site.
    svg = console.export_svg(title=f"speedproof {title or name}")
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    (PICTURES / f"{name}.svg").write_text(svg, encoding="utf-8")


def run() -> None:
    """Two programs: while they are measured, and what is proven."""
    with tempfile.TemporaryDirectory() as folder:
        numbers = "\n".join(str(i * 7919 % 1_000_003) for i in range(1_000_000))
        Path(folder, "numbers.txt").write_text(numbers + "\n", encoding="utf-8")
        during, done = session(folder, RUN)
    draw("run", [Text(f"$ {RUN}"), during, Text("\n...\n", style="dim"), done])


def bisect() -> None:
    """A repository with a slowdown: that there is one, and which commit it is."""
    with tempfile.TemporaryDirectory() as folder:
        repository = make(Path(folder, "words"))
        parts: list[str | Text] = []
        for command in (REVISIONS, BISECT):
            _, done = session(str(repository), command)
            parts += [Text(f"$ {command}"), done, ""]
    draw("bisect", parts[:-1])


def reading() -> None:
    """A sheet whose parts are numbered as the manual's page explains them."""
    words = ["compare", "examples/gzip/session.jsonl", "--metric", "time", "--color", "always"]
    environment = {**os.environ, "COLUMNS": "80", "FORCE_COLOR": "1"}
    command = [sys.executable, "-m", "speedproof", *words]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True, text=True)
    parts: list[str | Text] = []
    for line in done.stdout.rstrip().splitlines():
        text = Text.from_ansi(line)
        number = next((n for start, n in NUMBERED.items() if text.plain.startswith(start)), "")
        text.append(f"{'':{max(1, 84 - text.cell_len)}}{number}", "bold cyan")
        parts.append(text)
    draw("reading", parts, 88, "compare")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or ("run", "bisect", "reading"):
        {"run": run, "bisect": bisect, "reading": reading}[wanted]()
