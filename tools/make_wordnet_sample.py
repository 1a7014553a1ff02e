"""Makes the sample graph of WordNet 3.0 from the files of Debian's package ``wordnet-base``.

    python tools/make_wordnet_sample.py                 # downloads the package with apt-get
    python tools/make_wordnet_sample.py --dict FOLDER   # reads data.* and index.* from a folder

Synsets become nodes labelled ``Synset``, their part of speech and their lexicographer file
(``NounAnimal``), with the properties ``id`` (part of speech and offset in the data file) and
``name`` (the first word). Words, in lower case as in the index files, become nodes labelled
``Word`` with a ``name``. ``HAS_SENSE`` goes from a word to its synsets; its property ``sense`` is
the sense's number for that word and part of speech, the most frequent one first. Each pointer
becomes a relationship between synsets, with one type per pointer symbol; those between single words
of two synsets join the synsets too, so they may be parallel.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.build import build_data_graph
from gpugda.data.values.columns import column_from_values
from gpugda.ports import GraphBatches
from gpugda.snapshot.array_files import checksums, map_file
from gpugda.snapshot.manifest import MANIFEST, FileEntry, read_manifest
from gpugda.snapshot.store import save_snapshot

PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
PART_LABELS = {"n": "Noun", "v": "Verb", "a": "Adjective", "r": "Adverb"}

LEXICOGRAPHER_FILES = (
    "AdjectiveAll",
    "AdjectivePertainym",
    "AdverbAll",
    "NounTops",
    "NounAct",
    "NounAnimal",
    "NounArtifact",
    "NounAttribute",
    "NounBody",
    "NounCognition",
    "NounCommunication",
    "NounEvent",
    "NounFeeling",
    "NounFood",
    "NounGroup",
    "NounLocation",
    "NounMotive",
    "NounObject",
    "NounPerson",
    "NounPhenomenon",
    "NounPlant",
    "NounPossession",
    "NounProcess",
    "NounQuantity",
    "NounRelation",
    "NounShape",
    "NounState",
    "NounSubstance",
    "NounTime",
    "VerbBody",
    "VerbChange",
    "VerbCognition",
    "VerbCommunication",
    "VerbCompetition",
    "VerbConsumption",
    "VerbContact",
    "VerbCreation",
    "VerbEmotion",
    "VerbMotion",
    "VerbPerception",
    "VerbPossession",
    "VerbSocial",
    "VerbStative",
    "VerbWeather",
    "AdjectiveParticiple",
)
"""Labels, indexed by the number of the lexicographer file."""

POINTER_TYPES = {
    "@": "HYPERNYM",
    "@i": "INSTANCE_HYPERNYM",
    "~": "HYPONYM",
    "~i": "INSTANCE_HYPONYM",
    "#m": "MEMBER_HOLONYM",
    "#s": "SUBSTANCE_HOLONYM",
    "#p": "PART_HOLONYM",
    "%m": "MEMBER_MERONYM",
    "%s": "SUBSTANCE_MERONYM",
    "%p": "PART_MERONYM",
    "!": "ANTONYM",
    "=": "ATTRIBUTE",
    "+": "DERIVATION",
    "&": "SIMILAR_TO",
    "^": "ALSO_SEE",
    "*": "ENTAILMENT",
    ">": "CAUSE",
    "$": "VERB_GROUP",
    "<": "PARTICIPLE",
    "\\": "PERTAINYM",
    ";c": "TOPIC_DOMAIN",
    "-c": "TOPIC_MEMBER",
    ";r": "REGION_DOMAIN",
    "-r": "REGION_MEMBER",
    ";u": "USAGE_DOMAIN",
    "-u": "USAGE_MEMBER",
}

EXPECTED = {"synsets": 117_659, "words": 147_306, "senses": 206_978, "pointers": 377_592}


@dataclass
class WordNet:
    """Contents of the data and index files as columns."""

    ids: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    label_codes: list[int] = field(default_factory=list)
    label_sets: dict[tuple[str, ...], int] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)
    senses: list[tuple[str, str, int]] = field(default_factory=list)  # word, synset, number
    pointers: list[tuple[str, str, str]] = field(default_factory=list)  # synset, synset, symbol

    def counts(self) -> dict[str, int]:
        """Number of items of each kind."""
        return {
            "synsets": len(self.ids),
            "words": len(self.words),
            "senses": len(self.senses),
            "pointers": len(self.pointers),
        }


def read_wordnet(folder: Path) -> WordNet:
    """Reads the four data files and the four index files."""
    wordnet = WordNet()
    for part, file in PARTS.items():
        numbers = read_sense_numbers(folder / f"index.{file}", part)
        for line in (folder / f"data.{file}").read_text("ascii").splitlines():
            if not line.startswith("  "):  # those lines are the licence
                add_synset(wordnet, part, line, numbers)
    return wordnet


def read_sense_numbers(path: Path, part: str) -> dict[tuple[str, str], int]:
    """Sense number by (word, synset id)."""
    numbers = {}
    for line in path.read_text("ascii").splitlines():
        if line.startswith("  "):
            continue
        fields = line.split()
        count = int(fields[2])
        for number, offset in enumerate(fields[-count:], start=1):
            numbers[plain(fields[0]), part + offset] = number
    return numbers


def add_synset(wordnet: WordNet, part: str, line: str, numbers: dict[tuple[str, str], int]) -> None:
    """Adds the synset of one line of a data file."""
    fields = line.partition(" | ")[0].split()
    synset = part + fields[0]
    word_count = int(fields[3], 16)
    words = [plain(word) for word in fields[4 : 4 + 2 * word_count : 2]]
    labels = ("Synset", PART_LABELS[part], LEXICOGRAPHER_FILES[int(fields[1])])
    wordnet.ids.append(synset)
    wordnet.names.append(words[0])
    wordnet.label_codes.append(wordnet.label_sets.setdefault(labels, len(wordnet.label_sets)))
    for word in map(str.lower, words):
        wordnet.words.setdefault(word, len(wordnet.words))
        wordnet.senses.append((word, synset, numbers[word, synset]))
    first = 4 + 2 * word_count
    for place in range(first + 1, first + 1 + 4 * int(fields[first]), 4):
        symbol, offset, target_part, _ = fields[place : place + 4]
        target = ("a" if target_part == "s" else target_part) + offset
        wordnet.pointers.append((synset, target, symbol))


def plain(word: str) -> str:
    """A word without its syntactic marker, with spaces instead of underscores."""
    return word.partition("(")[0].replace("_", " ")


def batches_of(wordnet: WordNet) -> GraphBatches:
    """The graph as batches of columns."""
    synsets = NodeBatch(
        count=len(wordnet.ids),
        ids=pa.array(wordnet.ids),
        label_codes=np.array(wordnet.label_codes, dtype=np.int32),
        label_sets=tuple(wordnet.label_sets),
        properties={
            "id": column_from_values(wordnet.ids),
            "name": column_from_values(wordnet.names),
        },
        id_space="Synset",
        origin="synsets",
    )
    words = NodeBatch(
        count=len(wordnet.words),
        ids=pa.array(list(wordnet.words)),
        label_codes=np.zeros(len(wordnet.words), dtype=np.int32),
        label_sets=(("Word",),),
        properties={"name": column_from_values(list(wordnet.words))},
        id_space="Word",
        origin="words",
    )
    senses = RelationshipBatch(
        count=len(wordnet.senses),
        source_ids=pa.array([word for word, _, _ in wordnet.senses]),
        target_ids=pa.array([synset for _, synset, _ in wordnet.senses]),
        type_codes=np.zeros(len(wordnet.senses), dtype=np.int32),
        type_names=("HAS_SENSE",),
        properties={"sense": column_from_values([number for _, _, number in wordnet.senses])},
        source_space="Word",
        target_space="Synset",
        origin="senses",
    )
    symbols = list(POINTER_TYPES)
    pointers = RelationshipBatch(
        count=len(wordnet.pointers),
        source_ids=pa.array([source for source, _, _ in wordnet.pointers]),
        target_ids=pa.array([target for _, target, _ in wordnet.pointers]),
        type_codes=np.array([symbols.index(each) for _, _, each in wordnet.pointers], np.int32),
        type_names=tuple(POINTER_TYPES.values()),
        source_space="Synset",
        target_space="Synset",
        origin="pointers",
    )
    return GraphBatches([synsets, words], [senses, pointers])


def unpack_package(folder: Path) -> Path:
    """Unpacks Debian's package in a folder and returns the folder of the database files."""
    subprocess.run(["apt-get", "download", "wordnet-base"], cwd=folder, check=True)
    (package,) = folder.glob("wordnet-base_*.deb")
    subprocess.run(["dpkg-deb", "-x", str(package), str(folder)], check=True)
    return folder / "usr/share/wordnet"


def licence_text(folder: Path) -> str:
    """The licence, which precedes each data file with line numbers, without the numbers."""
    lines = []
    for line in (folder / "data.noun").read_text("ascii").splitlines():
        if not line.startswith("  "):
            break
        lines.append(line.strip().partition(" ")[2].rstrip())
    return "\n".join(lines).rstrip() + "\n"


def make_sample(folder: Path, target: Path) -> None:
    """Reads the database files and writes the snapshot and the licence."""
    wordnet = read_wordnet(folder)
    if wordnet.counts() != EXPECTED:
        sys.exit(f"these are not WordNet 3.0's files: {wordnet.counts()} instead of {EXPECTED}")
    graph = build_data_graph(batches_of(wordnet))
    licence = target / "LICENSE-wordnet.txt"
    licence.unlink(
        missing_ok=True
    )  # otherwise the folder holds a file that is not of a snapshot, and is left alone
    save_snapshot(
        graph, target, compression="zstd", incoming=False, source_name="WordNet 3.0 (wordnet-base)"
    )
    compress_harder(target)
    licence.write_text(licence_text(folder), "ascii")


def compress_harder(folder: Path) -> None:
    """Rewrites a snapshot's files at zstd's slow level, which halves their size in the wheel."""
    manifest = read_manifest(folder)
    options = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=19))
    entries = {}
    for kind, old in manifest.files.items():
        table = pa.ipc.open_file(map_file(folder / old.name)).read_all()
        path = folder / f"{kind}.arrow"
        with pa.ipc.new_file(path, table.schema, options=options) as file:
            file.write_table(table)
        (folder / old.name).unlink()
        data = map_file(path)
        entries[kind] = FileEntry(path.name, data.size, checksums(data))
    (folder / MANIFEST).write_text(replace(manifest, files=entries).to_text(), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dict", type=Path, help="folder with data.noun, index.noun, …")
    default = Path(__file__).parents[1] / "adapters/samples/wordnet"
    parser.add_argument("--target", type=Path, default=default, help="folder to write")
    arguments = parser.parse_args()
    if arguments.dict:
        make_sample(arguments.dict, arguments.target)
        return
    with tempfile.TemporaryDirectory() as name:
        make_sample(unpack_package(Path(name)), arguments.target)


if __name__ == "__main__":
    main()
