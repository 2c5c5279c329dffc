"""The command line: one module a command."""

import gc

# Nearly all that a command makes lives as long as it needs: to look for cycles in it as often as Python does,
# after every 700 objects, costs a short one a tenth of its time, and a single look at a large suite 4 %.
gc.set_threshold(2_000_000, 20, 100)
