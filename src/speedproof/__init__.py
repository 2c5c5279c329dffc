"""speedproof proves speedups: verdicts on program versions from repeated measurements, with a stated risk."""

__version__ = "0.1.0"
