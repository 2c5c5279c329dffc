"""The runner: commands executed in random order until the comparison is decided."""
