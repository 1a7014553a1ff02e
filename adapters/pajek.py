"""Networks in Pajek's format (``.net`` with a partition ``.clu``) as tables."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from gpugda_adapters.tables import TablesSource

if TYPE_CHECKING:
    from collections.abc import Mapping

from gpugda.errors import SourceError

# Pajek's encoding is Latin-1.
_ENCODING = "latin-1"
_VERTEX = re.compile(r'\s*(\d+)(?:\s+"([^"]*)"|\s+(\S+))?')
YEAST_CLASSES = dict(enumerate("TMUCFPGDOERBA", start=1))

Table = dict[str, list[object]]


class PajekSource(TablesSource):
    """A network as a source, read by `read_pajek`; without classes nodes have no labels.

    Args:
        path: A ``.net`` file, or the zip archive of the yeast network with its partition.

    Raises:
        SourceError: The file is missing, or not a network.
    """

    def __init__(self, path: str | Path) -> None:
        try:
            tables = read_pajek(path)
        except (OSError, KeyError, ValueError, IndexError, AssertionError) as error:
            raise SourceError(f"{path} is no network in Pajek's format: {error}") from error
        super().__init__(*tables)


def read_pajek(
    path: str | Path,
    network: str = "YeastS.net",
    partition: str = "Yeast.clu",
    classes: Mapping[int, str] = MappingProxyType(YEAST_CLASSES),
    type_name: str = "INTERACTS",
) -> tuple[Table, Table]:
    """Tables (nodes, relationships) of a network in a zip archive, or of a ``.net`` file alone.

    Labels are the class names of the partition. ``*edges`` become source → target as they are
    written, including loops and duplicates.
    """
    path = Path(path)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            net = archive.read(network).decode(_ENCODING)
            clu = archive.read(partition).decode(_ENCODING) if partition else ""
    else:
        net, clu = path.read_text(_ENCODING), ""
    nodes = _nodes(_section(net, "*vertices"))
    if clu:
        numbers = _section(clu, "*vertices")
        nodes["labels"] = [classes[int(number)] for number in numbers]
        assert len(numbers) == len(nodes["id"])
    lines = [*_section(net, "*arcs"), *_section(net, "*edges")]
    pairs = [tuple(map(int, line.split()[:2])) for line in lines]
    relationships: Table = {
        "source": [source for source, _ in pairs],
        "target": [target for _, target in pairs],
        "type": [type_name] * len(pairs),
    }
    return nodes, relationships


def _section(text: str, title: str) -> list[str]:
    """Lines between a title and the next one, without comments and empty lines."""
    found: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("*"):
            inside = line.lower().startswith(title)
        elif inside and line.strip() and not line.startswith("%"):
            found.append(line)
    return found


def _nodes(lines: list[str]) -> Table:
    found = [_VERTEX.match(line) for line in lines]
    return {
        "id": [int(match[1]) for match in found if match],
        "name": [match[2] or match[3] or match[1] for match in found if match],
    }
