"""Make a picture of what `speedproof run` shows while it measures, from a real session in a real terminal.

``python docs/terminal.py`` runs two real programs under tmux, takes the screen while they are measured and when
they are done, and writes docs/pictures/run.svg. It needs tmux and the coreutils.
"""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS, LINES = 112, 17
PICTURE = Path(__file__).with_name("pictures") / "run.svg"
COMMAND = "speedproof run --precision 0.5% 'sha256sum numbers.txt' 'sha512sum numbers.txt'"


def tmux(*words: str) -> str:
    """What a command of tmux prints."""
    return subprocess.run(
        ["tmux", "-L", "picture", *words], check=True, capture_output=True, text=True
    ).stdout


def screen() -> str:
    """The screen with its colours, without the notes on the machine."""
    lines = tmux("capture-pane", "-e", "-p", "-t", "picture").rstrip().splitlines()
    return "\n".join(line for line in lines if "note:" not in line)


def main() -> None:
    """Measure, look twice, draw."""
    with tempfile.TemporaryDirectory() as folder:
        numbers = "\n".join(str(i * 7919 % 1_000_003) for i in range(1_000_000))
        Path(folder, "numbers.txt").write_text(numbers + "\n", encoding="utf-8")
        path = f"{Path(sys.executable).parent}:$PATH"
        start = f"cd {shlex.quote(folder)}; PATH={path} PS1=; clear; {COMMAND}; echo DONE"
        tmux("new-session", "-d", "-s", "picture", "-x", str(COLUMNS), "-y", "40", "sh")
        try:
            tmux("send-keys", "-t", "picture", start, "Enter")
            during = ""
            for _ in range(200):
                time.sleep(0.3)
                seen = screen()
                if seen.endswith("DONE"):
                    break
                if "to go" in seen:
                    during = seen
            done = seen
        finally:
            tmux("kill-server")
    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), color_system="truecolor", force_terminal=True
    )
    console.print(Text(f"$ {COMMAND}"))
    console.print(Text.from_ansi(during))
    console.print(Text("\n...\n", style="dim"))
    console.print(Text.from_ansi(done.replace("DONE", "")))
    # Any fixed-width font will do: a picture must not send its readers to another site.
    svg = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="speedproof run"), flags=re.DOTALL)
    PICTURE.write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
