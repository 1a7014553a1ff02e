"""Delimited text files with typed headers, as ``neo4j-admin database import`` reads them."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpugda.errors import ConfigurationError, SourceError
from gpugda.ports import GraphBatches

from .import_arguments import FileArgument, GroupArgument, csv_format, named_groups, one_character
from .import_batches import BatchRules, node_batches, relationship_batches
from .import_names import SUFFIXES, name_in, with_headers
from .import_tables import ReadRules, read_blocks, read_header
from .import_values import TextRules
from .input_files import InputFile, expand_files, list_folder
from .labels import split_labels

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from gpugda.data.batches import NodeBatch, RelationshipBatch
    from gpugda.ports import Progress

    from .import_header import ImportHeader

__all__ = ["FileArgument", "ImportSource"]

_ID_TYPES = frozenset(["string", "integer", "actual"])


@dataclass(frozen=True, slots=True)
class _Group:
    """Files that share one header, the first row of the first file.

    Args:
        name: Labels or type of rows without their own.
    """

    name: str
    files: tuple[InputFile, ...]
    rules: ReadRules

    @property
    def origin(self) -> str:
        return self.files[0].name


class ImportSource:
    r"""A graph in import files.

    Args:
        nodes: Files per labels, such as ``{"Person": "people.csv", "Message:Post":
            ["header.csv", "posts.csv"]}``; ``""`` for files whose labels are only in a column
            ``:LABEL``. Files are a path, several in one text separated by commas, a regular
            expression on names, or a sequence of these; the first one starts with the header,
            further ones have none. Groups with headers of their own and the same labels are
            pairs, ``[("Person", "a.csv"), ("Person", "b.csv")]``, like the command's repeated
            option; a path alone there has only the labels of its column.
        relationships: Files per type, likewise; ``""`` for files with a column ``:TYPE``.
        delimiter: Separates fields: one ASCII character, ``"TAB"``, ``"\t"`` or ``"U+0001"``.
        array_delimiter: Separates elements of arrays, and labels.
        quote: Encloses fields; doubled within them. Empty for none.
        id_type: ``"string"``, or ``"integer"`` (or ``"actual"``) for integer ids.
        ignore_empty_strings: True if ``""`` is null, too. An empty field without quotes always is.
        trim_strings: True to strip blanks around texts.
        auto_skip_subsequent_headers: True if further files of a group may repeat the header.

    Raises:
        ConfigurationError: A character or ``id_type`` is invalid.
        SourceError: A file does not exist.
    """

    def __init__(
        self,
        nodes: GroupArgument | None = None,
        relationships: GroupArgument | None = None,
        *,
        delimiter: str = ",",
        array_delimiter: str = ";",
        quote: str = '"',
        id_type: str = "string",
        ignore_empty_strings: bool = False,
        trim_strings: bool = False,
        auto_skip_subsequent_headers: bool = False,
    ) -> None:
        if id_type not in _ID_TYPES:
            raise ConfigurationError(f"id_type={id_type!r}: choose {', '.join(sorted(_ID_TYPES))}")
        layout = csv_format(delimiter, quote)
        text_rules = TextRules(one_character(array_delimiter, "array_delimiter"), trim_strings)
        self._batch_rules = BatchRules(text_rules, id_type != "string")
        self._read_rules = ReadRules(layout, ignore_empty_strings, auto_skip_subsequent_headers)
        self._nodes = [self._group(*pair) for pair in named_groups(nodes, "nodes")]
        self._relationships = [
            self._group(*pair) for pair in named_groups(relationships, "relationships")
        ]
        self._name = "import files"

    @classmethod
    def from_folder(
        cls,
        path: str | os.PathLike[str],
        *,
        delimiter: str | None = None,
        array_delimiter: str = ";",
        quote: str = '"',
        id_type: str = "string",
        ignore_empty_strings: bool = False,
        trim_strings: bool = False,
    ) -> ImportSource:
        """All ``.csv`` and ``.tsv`` files (optionally with ``.gz``) of a folder or zip archive.

        Their headers determine whether they hold nodes or relationships. Labels and types come from
        columns ``:LABEL`` and ``:TYPE``, else from the file's name: ``Person.csv``,
        ``x.nodes.Person.csv``, ``x.relationships.KNOWS.csv``. ``Person_header.csv`` is the header
        of ``Person_1.csv`` and ``Person_2.csv``.

        Args:
            path: The folder or archive.
            delimiter: Separates fields; by default a comma, in ``.tsv`` files a tab.
            array_delimiter: As for the class, like all that follow.
            quote: Encloses fields.
            id_type: Type of ids.
            ignore_empty_strings: True if ``""`` is null, too.
            trim_strings: True to strip blanks around texts.

        Raises:
            SourceError: The folder cannot be read, or a file's header names no ids.
        """
        source = cls(
            array_delimiter=array_delimiter,
            quote=quote,
            id_type=id_type,
            ignore_empty_strings=ignore_empty_strings,
            trim_strings=trim_strings,
        )
        source._take_folder(Path(path), delimiter, quote)
        return source

    @property
    def name(self) -> str:
        """The folder's name, or ``import files``."""
        return self._name

    @contextmanager
    def read(self, progress: Progress) -> Iterator[GraphBatches]:
        """Opens one file after the other, as batches are requested.

        Raises:
            SourceError: A header or row is wrong; names file, row and column.
        """
        del progress  # the builder of the graph counts rows
        yield GraphBatches(self._node_batches(), self._relationship_batches())

    def _node_batches(self) -> Iterator[NodeBatch]:
        for group in self._nodes:
            header = read_header(group.files[0], group.rules.layout)
            labels = split_labels(group.name)
            blocks = read_blocks(group.files, header, group.rules)
            yield from node_batches(blocks, header, labels, self._batch_rules, group.origin)

    def _relationship_batches(self) -> Iterator[RelationshipBatch]:
        rules = replace(self._batch_rules, id_types=self._id_types())
        for group in self._relationships:
            header = read_header(group.files[0], group.rules.layout)
            blocks = read_blocks(group.files, header, group.rules)
            yield from relationship_batches(blocks, header, group.name, rules, group.origin)

    def _id_types(self) -> dict[str, str]:
        """The types of ids that the headers of nodes name, by id space."""
        headers = [read_header(group.files[0], group.rules.layout) for group in self._nodes]
        ids = [column for header in headers for column in header.fields if column.role == "ID"]
        return {each.space: each.options["id-type"] for each in ids if "id-type" in each.options}

    def _group(self, name: str, files: FileArgument) -> _Group:
        found = tuple(expand_files(files))
        if not found:
            raise SourceError(f"no files are given for {name!r}")
        return _Group(name, found, self._read_rules)

    def _take_folder(self, path: Path, delimiter: str | None, quote: str) -> None:
        self._name = path.name
        files = list_folder(path, SUFFIXES)
        if not files:
            raise SourceError(f"{path}: has no files named {' or '.join(SUFFIXES)}")
        for together in with_headers(files):
            default = "\t" if ".tsv" in together[0].name.lower() else ","
            rules = ReadRules(
                csv_format(delimiter or default, quote), self._read_rules.ignore_empty_strings
            )
            header = read_header(together[0], rules.layout)
            group = _Group(name_in(together[0].name), tuple(together), rules)
            self._kind_of(header, group).append(group)

    def _kind_of(self, header: ImportHeader, group: _Group) -> list[_Group]:
        if header.is_relationship:
            return self._relationships
        if header.is_node:
            return self._nodes
        raise SourceError(
            f"{group.origin}: the header has no :ID (a file of nodes) and no :START_ID and :END_ID "
            "(a file of relationships); write for example id:ID, or check the delimiter "
            f"{group.rules.layout.delimiter!r}"
        )
