"""Evaluation of syntax nodes on columns, one module per topic."""
