"""Readers of benchmarking tools' result files: one module a format."""
