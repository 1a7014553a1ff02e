"""The comparison of estimates with what queries do."""

import math

from lab.estimates import Estimated, estimates_table


def test_the_table_counts_estimates_within_five_times():
    found = [
        Estimated("MATCH (a|b)", 0.001, 0.002, ((10.0, 12), (0.2, 0))),
        Estimated("MATCH (c)", 0.1, 0.002, ((1.0, 100), (math.nan, 3))),
    ]
    lines = "\n".join(estimates_table(found))
    assert "| `MATCH (a\\|b)` | 2 | 0.5 | 0.83 |" in lines
    assert "within 5 times: 1 of 2 (50%) of times, 2 of 4 (50%) of operators' rows" in lines
