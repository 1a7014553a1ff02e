"""A cluster of two processes, and what its tests share."""

import gc

import numpy as np
import pytest
from distributed import Client, LocalCluster

import gpugda
from gpugda.match import exchange
from gpugda.match.exchange import ExchangeLimits


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made:
        yield made
    gc.collect()  # what Dask leaves warns here, where that is ignored, and not in another test


@pytest.fixture(scope="module")
def client(cluster):
    with Client(cluster, set_as_default=False) as made:
        yield made


@pytest.fixture
def divided(monkeypatch):
    """Every pattern is divided, none is found by a walk on the host."""
    monkeypatch.setattr(exchange, "LIMITS", ExchangeLimits(min_seconds=0.0, parts=8, first=2))
    monkeypatch.setattr("gpugda.match.extend.strategy.ExtendStrategy.walked_pairs", 0)


@pytest.fixture
def source():
    random = np.random.default_rng(5)
    labels = [["A"], ["A", "B"], []] * 20
    ends = random.integers(60, size=(2, 400))
    links = {"source": ends[0], "target": ends[1], "type": ["R"] * 400}
    return gpugda.graph({"id": np.arange(60), "labels": labels}, links)
