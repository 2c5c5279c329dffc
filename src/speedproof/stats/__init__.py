"""Statistics: arrays in, frozen results out; no names of benchmarks, no I/O."""
