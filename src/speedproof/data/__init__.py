"""What was measured: samples, suites and their units; no statistics and no I/O."""
