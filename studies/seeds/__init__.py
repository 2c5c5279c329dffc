"""The experiments of the four papers, run again: what a paper prints beside what speedproof finds.

``python -m studies.seeds`` writes one page of results, as Markdown and HTML, with its figures beside it. What a
paper prints is committed, in ``printed/`` and among the tests' data; what may not be committed is read from
``--data`` and listed as "not available" when it is absent.
"""
