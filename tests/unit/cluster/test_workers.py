"""Patterns divided between the workers of a Dask cluster of processes: answers and settings."""

import subprocess
import sys

import numpy as np
import pytest
from soon import soon

import gpugda
from gpugda.cluster import workers
from gpugda.cluster.part import Bits
from gpugda.errors import ConfigurationError
from gpugda.match.count import vectors

pytestmark = [
    pytest.mark.device,
    pytest.mark.group("cluster"),
    # Dask warns about busy machines and ports, and its threads outlive tests.
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

COUNT = "MATCH (a:A)-->(b)-->(c:A), (a)-->(c) WHERE a <> c RETURN count(*)"
ROWS = "MATCH (a:A)-->(b)-->(c:A), (a)-->(c) RETURN a.id, b.id, c.id"
GROUPS = "MATCH (a:A)-->(b)-->(c:A), (a)-->(c) RETURN b.id, count(*), count(DISTINCT c.id)"
PARAMETERS = "MATCH (a:A)-->(b)-->(c:A), (a)-->(c) WHERE b.id > $low AND a.id < c.id RETURN a.id"
CYCLES = "MATCH (a)-->(b)-->(c)-->(d)-->(a) RETURN count(*)"


def sorted_rows(result):
    return sorted(map(repr, result.values()))


def exchanged(result):
    return [each for each in result.summary.steps if str(each).startswith("exchange")]


def checked(accelerator, text, **parameters):
    """The exchange of a query whose rows are those of the reference."""
    expected = accelerator.run(text, parameters, engine="reference")
    found = accelerator.run(text, parameters, engine="gpu")
    assert sorted_rows(found) == sorted_rows(expected)
    (said,) = exchanged(found)
    return said


def test_all_kinds_of_answers(cluster, divided, monkeypatch, source):
    monkeypatch.setattr(vectors, "_MIN_ROWS", {"lists": 0.0, "marks": 0.0})
    monkeypatch.setattr(vectors, "_MIN_GAIN", 0.0)
    with gpugda.connect(source, cluster=cluster) as accelerator:
        for text in (COUNT, ROWS, GROUPS):
            assert "in 4 tasks; worker " in checked(accelerator, text)
        assert "worker " in checked(accelerator, PARAMETERS, low=20)
        assert "pinned nodes" in checked(accelerator, CYCLES)
        assert len(accelerator.run(f"{ROWS} LIMIT 2").values()) == 2
        text = str(accelerator.explain(COUNT))
        assert f"between 2 workers of {cluster.scheduler_address}" in text


def held(client):
    """Keys of the graphs that the workers have open."""
    # Not by name: workers do not know this module.
    found = client.run(lambda: [key for key, _ in sys.modules["gpugda.cluster.shared_graph"]._open])
    return {key for keys in found.values() for key in keys}


@pytest.fixture
def shared(monkeypatch):
    """What was given to workers."""
    found = []

    def noted(*given):
        found.append(made(*given))
        return found[-1]

    made = workers.shared_by
    monkeypatch.setattr(workers, "shared_by", noted)
    return found


def test_workers_read_a_snapshot_that_they_find(client, divided, shared, tmp_path, source):
    folder = tmp_path / "saved"
    with gpugda.connect(source) as accelerator:
        accelerator.save(folder)
    with gpugda.connect(folder, cluster=client) as accelerator:
        checked(accelerator, COUNT)
    assert [each._files for each in shared] == [None]


def test_the_client_that_was_given_stays_open(client, divided, shared, source):
    with gpugda.connect(source, cluster=client) as accelerator:
        checked(accelerator, COUNT)
        (key,) = {each.key for each in shared}
        assert shared[0]._files
        assert key in held(client)
    assert client.status == "running"
    assert soon(lambda: key not in held(client))


def test_a_changed_graph_is_sent_again(client, divided, shared, tmp_path):
    file = tmp_path / "edges.csv"

    def write(count):
        random = np.random.default_rng(3).integers(30, size=(count, 2))
        rows = [f"{one},{other}" for one, other in random.tolist()]
        file.write_text("\n".join(["source,target", *rows]))

    text = "MATCH (a)-->(b)-->(c)-->(a), (b)-->(a) RETURN count(*)"
    write(200)
    with gpugda.connect(str(file), cluster=client) as accelerator:
        checked(accelerator, text)
        checked(accelerator, text)
        assert len(shared) == 1
        write(300)
        accelerator.refresh()
        checked(accelerator, text)
    assert len({each.key for each in shared}) == 2


def test_short_patterns_stay_here(client, source):
    with gpugda.connect(source, cluster=client) as accelerator:
        assert not exchanged(accelerator.run(COUNT))


# ------------------------------------------------------------------ settings
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"cluster": "tcp://127.0.0.1:9"}, "no scheduler of Dask answers at tcp://127.0.0.1:9"),
        ({"cluster": 7}, "cluster is 7"),
        ({"cluster": "tcp://127.0.0.1:9", "devices": "all"}, "either cluster or devices"),
    ],
)
def test_what_is_no_cluster_is_refused(given, said, monkeypatch, source):
    monkeypatch.setattr(workers, "_CONNECT_SECONDS", 1.0)
    with pytest.raises(ConfigurationError, match=said):
        gpugda.connect(source, **given)


def test_the_cluster_of_the_environment(cluster, monkeypatch, source):
    monkeypatch.setenv("GPUGDA_CLUSTER", cluster.scheduler_address)
    with gpugda.connect(source) as accelerator:
        assert accelerator._session.places.text.endswith(cluster.scheduler_address)


@pytest.mark.slow
def test_without_a_cluster_dask_is_not_imported():
    program = """
import sys, gpugda
gpugda.connect("sample:wordnet").run("MATCH (a:Word)-->(b) RETURN count(*)").values()
print([name for name in sys.modules if name.split(".")[0] in ("dask", "distributed")])
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_bitmaps_are_sent_without_their_zeros():
    bits = np.zeros(100, dtype=np.uint32)
    assert Bits.of(bits).whole().tolist() == bits.tolist()
    bits[[40, 42]] = 7, 1 << 31
    assert len(Bits.of(bits).words) == 3
    assert Bits.of(bits).whole().tolist() == bits.tolist()
