"""The program: ``speedproof``, and ``python -m speedproof``."""

import signal


def entry() -> None:
    """Start the program; Ctrl-C ends it without a traceback until there is a result to report."""
    if heard := signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from speedproof.cli.main import entry

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    entry()


if __name__ == "__main__":
    entry()
