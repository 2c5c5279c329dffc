"""The command line: one module a command."""

import gc

# Nearly all that a command makes lives as long as it needs: to look for cycles in it as often as Python does,
# after every 700 objects, costs a short one a tenth of its time.
gc.set_threshold(5_000_000, 20, 100)
