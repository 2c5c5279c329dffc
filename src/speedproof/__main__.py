"""The program: ``speedproof``, and ``python -m speedproof``."""

import signal


def entry() -> None:
    """Start it; Ctrl-C ends it silently until there is something to say."""
    if heard := signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from speedproof.cli.main import entry

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    entry()


if __name__ == "__main__":
    entry()
