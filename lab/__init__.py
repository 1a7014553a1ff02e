"""Benchmarks of papers, which need a checkout: ``python -m lab --help`` at its top."""
