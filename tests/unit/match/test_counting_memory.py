"""Thinking about a long path keeps a bounded number of orders."""

import contextlib

import gpugda
from gpugda.match.extend.counting import search


def test_a_long_path_keeps_a_bounded_number_of_orders(monkeypatch):
    made = []
    original = search.lru_cache

    def watched(size):
        def keep(function):
            made.append(original(size)(function))
            return made[-1]

        return keep

    monkeypatch.setattr(search, "lru_cache", watched)
    monkeypatch.setattr(search, "_KEPT", 16)
    path = "-->".join(f"(n{number})" for number in range(50))
    with gpugda.connect("sample:wordnet") as opened:
        opened.run("MATCH (a)-->(b)-->(c) RETURN count(*)", engine="gpu")  # kernels are there now
        for _ in range(2):  # it is thought about when it comes again
            with contextlib.suppress(gpugda.QueryTimeoutError):
                opened.run(f"MATCH {path} RETURN count(*)", engine="gpu", timeout=5)
    assert any(each.cache_info().misses > 16 for each in made)
    assert all(each.cache_info().currsize <= 16 for each in made)
