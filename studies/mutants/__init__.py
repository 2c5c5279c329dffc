"""Which small errors the tests would let pass: mutants of every package that decides, reads or shows something.

``python -m studies.mutants copy`` copies the repository to build/mutants; ``record`` runs the fast tests there
and notes which lines each executes (``record tests/stats`` those of a folder). ``draw 300 1`` draws 300 of all
mutants at random (seed 1; ``draw 40 1 history/`` of a part), runs for each the tests that execute the changed
line until one fails, prints who survives, and the share that was killed with its interval. Without a record the
tests are those of the files that import the module; a record follows lines that have moved since. ``try
stats/power.py runs_needed_ranks`` tries all mutants of a module, or of some functions or classes of it; ``again
FILE`` the survivors of an earlier draw. Some survivors change no answer: whoever reads them decides.

A server collects the tests once and forks for every mutant, which exchanges the code of one function in place, so
that most die within a second. mutmut leaves out decorated functions and constants of modules, cosmic-ray starts a
process a mutant, and neither draws at random.
"""
