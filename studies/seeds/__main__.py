"""Run the experiments of the papers; see :mod:`studies.seeds.run`."""

import sys

from studies.seeds.run import main

if __name__ == "__main__":
    sys.exit(main())
