"""Where the files are that the readers are tested on."""

from pathlib import Path

import pytest
from tests.formats.reading import FILES

SHARED = Path(__file__).parents[2] / ".." / "shared"


@pytest.fixture(scope="session")
def files() -> Path:
    return FILES


@pytest.fixture(scope="session")
def shared() -> Path:
    """Result files of other projects, which are not part of this one."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the folder of other projects' result files is not here")
    return folder
