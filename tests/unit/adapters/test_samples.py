from __future__ import annotations

import pytest
from gpugda_adapters.samples import SampleSource, sample_names

from gpugda.data.values.columns import to_values
from gpugda.errors import ConfigurationError
from gpugda.ports import GraphSource, SilentProgress, SnapshotFolder
from gpugda.snapshot.opening import open_snapshot


@pytest.fixture(scope="module")
def wordnet():
    with SampleSource("wordnet").read(SilentProgress()) as folder:
        assert isinstance(folder, SnapshotFolder)
        return open_snapshot(folder.path)


def test_sample_names_are_listed():
    assert sample_names() == ["wordnet"]
    source = SampleSource("wordnet")
    assert source.name == "sample:wordnet"
    assert isinstance(source, GraphSource)


@pytest.mark.parametrize("name", ["wordnot", "", "../samples/wordnet", "WordNet"])
def test_an_unknown_sample_is_refused(name):
    with pytest.raises(ConfigurationError, match="'sample:wordnet'"):
        SampleSource(name)


def test_counts_of_nodes_relationships_labels_and_types(wordnet):
    assert wordnet.node_count == 117_659 + 147_306
    assert wordnet.relationship_count == 206_978 + 377_592
    assert len(wordnet.types) == 26 + 1
    assert len(wordnet.labels) == 45 + 4 + 2
    counts = dict(zip(wordnet.labels.names, wordnet.statistics.label_counts, strict=True))
    assert counts["Synset"] == 117_659
    assert (counts["Noun"], counts["Verb"]) == (82_115, 13_767)
    assert (counts["Adjective"], counts["Adverb"]) == (18_156, 3_621)
    assert counts["NounAnimal"] == 7_509
    types = dict(zip(wordnet.types.names, wordnet.statistics.type_counts, strict=True))
    assert types["HAS_SENSE"] == 206_978
    assert types["HYPERNYM"] == 89_089
    assert types["DERIVATION"] == 74_717


def test_the_first_synset_of_wordnet_is_entity(wordnet):
    assert to_values(wordnet.node_properties["id"])[0] == "n00001740"
    assert to_values(wordnet.node_properties["name"])[0] == "entity"
    assert wordnet.node_labels(0) == ("Synset", "Noun", "NounTops")


def test_dog_has_eight_senses_in_order(wordnet):
    names = to_values(wordnet.node_properties["name"])
    dog = next(
        node
        for node, name in enumerate(names)
        if name == "dog" and wordnet.node_labels(node) == ("Word",)
    )
    start, end = wordnet.outgoing.run(dog, wordnet.types.get("HAS_SENSE"))
    synsets = wordnet.outgoing.neighbours[start:end].tolist()
    numbers = to_values(wordnet.relationship_properties["sense"])[start:end]
    nouns = [s for s in synsets if "Noun" in wordnet.node_labels(s)]
    assert len(synsets) == 8
    assert sorted(numbers) == [1, 1, 2, 3, 4, 5, 6, 7]
    assert len(nouns) == 7
    first = synsets[numbers.index(1)]
    assert "NounAnimal" in wordnet.node_labels(first)


def test_the_sample_contains_its_licence():
    with SampleSource("wordnet").read(SilentProgress()) as folder:
        text = (folder.path / "LICENSE-wordnet.txt").read_text()
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in text
    assert "AS IS" in text
