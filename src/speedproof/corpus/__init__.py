"""Any number of samples in Parquet, and the same analyses over them on all cores or a cluster."""

from pathlib import Path

__all__ = ["MANIFEST", "is_corpus", "is_url"]

MANIFEST = "corpus.json"


def is_url(path: str) -> bool:
    """Whether a text names a place by its protocol."""
    return "://" in path


def is_corpus(path: str) -> bool:
    """Whether a path or a URL is a corpus; costs a look at one file where it is a folder of this machine."""
    try:
        return is_url(path) or Path(path, MANIFEST).is_file()
    except (OSError, ValueError):  # no possible name
        return False
