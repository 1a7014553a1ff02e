"""Simple graphs with communities: their numbers, and that threads do not change them."""

import numpy as np
import pytest

from gpugda.data import threads
from lab import communities
from lab.communities import draw_communities
from lab.community_plan import plan_communities
from lab.recipes import RECIPES

SOCIAL = {name: recipe.social for name, recipe in RECIPES.items() if recipe.social is not None}


def drawn(shape, scale, seed=1):
    parts = list(draw_communities(np.random.default_rng(seed), shape, scale))
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))


def triangles_of(starts, ends):
    neighbours = {}
    for one, other in zip(starts.tolist(), ends.tolist(), strict=True):
        neighbours.setdefault(one, set()).add(other)
        neighbours.setdefault(other, set()).add(one)
    pairs = zip(starts.tolist(), ends.tolist(), strict=True)
    return sum(len(neighbours[one] & neighbours[other]) for one, other in pairs) // 3


@pytest.mark.slow
@pytest.mark.parametrize("name", SOCIAL)
def test_a_plan_has_the_published_numbers(name):
    shape = SOCIAL[name]
    plan = plan_communities(shape)
    assert plan.firsts[-1] == shape.nodes
    assert plan.counts @ plan.degrees / 2 == pytest.approx(shape.relationships, 0.001)
    assert plan.triangles == pytest.approx(shape.triangles, 0.01)
    if shape.wedges is not None:
        assert plan.counts @ plan.degrees**2 / 2 == pytest.approx(shape.wedges, 0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scale"), [("youtube", 0.01), ("livejournal", 0.002)])
def test_a_drawn_graph_has_the_numbers_of_its_plan(name, scale, monkeypatch):
    monkeypatch.setattr(communities, "_PIECE", 1 << 13)
    monkeypatch.setattr(communities, "_BLOCK", 1 << 10)
    shape, plan = SOCIAL[name], plan_communities(SOCIAL[name], scale)
    starts, ends = drawn(shape, scale)
    nodes = int(plan.firsts[-1])
    assert starts.max() < nodes
    assert ends.max() < nodes
    assert (starts < ends).all()
    assert len(np.unique(starts.astype(np.int64) * nodes + ends)) == len(starts)
    assert len(starts) == round(scale * shape.relationships)
    degrees = np.bincount(np.concatenate([starts, ends]), minlength=nodes)
    assert degrees.max() == pytest.approx(plan.degrees[0], 0.2)
    assert triangles_of(starts, ends) == pytest.approx(plan.triangles, 0.1)
    hubs = np.sort(np.argsort(degrees)[-10:])
    assert np.diff(hubs).min() > 1  # scattered


@pytest.mark.parametrize("piece", [1 << 9, 1 << 20])
def test_the_number_of_threads_does_not_change_a_graph(piece, monkeypatch):
    monkeypatch.setattr(communities, "_PIECE", piece)
    found = []
    for cores in (1, 3):
        monkeypatch.setattr(threads, "core_count", lambda cores=cores: cores)
        found.append(drawn(SOCIAL["orkut"], 1e-4))
    assert all(np.array_equal(*each) for each in zip(*found, strict=True))
    assert not np.array_equal(found[0][0], drawn(SOCIAL["orkut"], 1e-4, seed=2)[0])


@pytest.mark.parametrize("name", SOCIAL)
def test_the_smallest_scale_draws_a_simple_graph(name):
    starts, ends = drawn(SOCIAL[name], 1e-9)
    assert (starts < ends).all()
    assert len(starts) <= 16
