"""Write dev.txt: the installed versions of what pyproject.toml declares."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
HEAD = "# What the development environment is made of: `make constraints` renews it.\n"


def main() -> None:
    """Pin what is installed."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [
        *project["dependencies"],
        *(d for some in project["optional-dependencies"].values() for d in some),
    ]
    names = sorted({re.split(r"[<>=\[ ;]", d)[0].lower() for d in declared} - {"speedproof"})
    pins = []
    for name in names:
        try:
            pins.append(f"{name}=={version(name)}\n")
        except PackageNotFoundError:
            continue
    (HERE / "dev.txt").write_text(HEAD + "".join(pins), encoding="utf-8")


if __name__ == "__main__":
    main()
