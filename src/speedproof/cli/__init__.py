"""The command line: one module a command."""

import gc

# Imports make little garbage: looking for it after every 700 objects is a tenth of a command's start.
gc.set_threshold(50_000)
