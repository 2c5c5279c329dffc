"""Measurements over time: the store, chained ratios, change points."""
