"""Strategies from the literature, each found by its entry point in ``gpugda.strategies``."""
