"""Gaussian mixtures of one variable: fit, goodness of fit, metrics, modes across versions."""
