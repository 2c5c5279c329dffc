"""The public functions and what they return; :mod:`speedproof` itself gives all of it."""
