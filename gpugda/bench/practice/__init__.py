"""The practice workload: what people ask of their graphs, in five domains.

``NAME.toml`` says what the graph of a domain holds, ``NAME.cypher`` what is asked of it.
"""
