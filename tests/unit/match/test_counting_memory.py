"""A search for the plan of a long path keeps a bounded number of orders."""

import contextlib
from dataclasses import replace

from bound_queries import NO_MASKS, Relationship
from branched_queries import a_graph, plan_of

from gpugda.errors import QueryTimeoutError
from gpugda.plan.counting.costs import Costs
from gpugda.plan.counting.eliminate import best_elimination
from gpugda.plan.counting.problem import CountProblem
from gpugda.plan.join.join_rates import ExpectedCandidates
from gpugda.thresholds import CPU


def test_a_long_path_stores_a_bounded_number_of_orders():
    # Each relationship is in a separate clause, so that any node is a separator.
    links = [Relationship(at, at + 1, (0,), True, at) for at in range(49)]
    bound = plan_of(links).bound
    counts = ExpectedCandidates([1_000_000] * 50)
    problem = CountProblem(bound, a_graph(1, relationships=400), NO_MASKS, counts)
    asked = []

    def check():
        asked.append(None)
        if len(asked) > 200:
            raise QueryTimeoutError("it was asked often enough")

    thresholds = replace(CPU.count, max_orders=16)
    costs = Costs(problem, thresholds, check)
    with contextlib.suppress(QueryTimeoutError):
        best_elimination(problem, costs, thresholds)
    assert len(asked) > 16
    assert costs.orders_kept == 16
