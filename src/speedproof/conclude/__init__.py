"""From comparisons to claims: the numbers of a suite, corrections, controls, policies."""
