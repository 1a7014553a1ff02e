"""Files of tables as a graph: one, those of a folder, or those given by label or type."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gpugda.errors import ConfigurationError, SourceError

from .column_names import GivenNames, begins_with_id, usual_ends
from .edges import EdgesSource
from .import_arguments import csv_format
from .import_names import name_in
from .input_files import address_errors, expand_files, list_folder, path_of, shortened
from .read_import import ImportSource
from .table_files import has_import_header, read_table
from .table_kinds import ARROW, DELIMITED, EDGES, MATRIX, PARQUET, table_kind
from .tables import TablesSource

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from gpugda.ports import GraphBatches, GraphSource, Progress

    from .input_files import InputFile

__all__ = ["FilesSource", "given_files", "open_files"]

_FOLDER = (*DELIMITED, *PARQUET, *ARROW)
_PACKED = ("", ".gz", ".xz")
_ANY_NODES = frozenset(["nodes", "node", "vertices", "vertex"])
_ANY_RELATIONSHIPS = frozenset(
    ["relationships", "relationship", "edges", "edge", "links", "link", "rels", "relations"]
)
_RELATED = "RELATED"


class FilesSource:
    """Tables in files: those with columns of both ends hold relationships, the others nodes.

    Labels and types come from columns, else from the files' names.

    Args:
        files: The files.
        name: Name for display.
        decimals: As for `TablesSource`.
    """

    def __init__(self, files: list[InputFile], name: str, *, decimals: str = "exact") -> None:
        self._files = files
        self._decimals = decimals
        self.name = name

    def with_decimals(self, decimals: str) -> FilesSource:
        """The same files with decimal numbers taken so.

        Raises:
            ConfigurationError: No file can have decimal numbers.
        """
        _check_decimals(decimals, self._files)
        return FilesSource(self._files, self.name, decimals=decimals)

    @contextmanager
    def read(self, progress: Progress) -> Iterator[GraphBatches]:
        """Reads all files, then makes a batch of each.

        Raises:
            SourceError: A file cannot be read, or has neither ids nor ends.
        """
        nodes, relationships = [], []
        for file in self._files:
            table = read_table(file)
            names = tuple(table.columns)
            stem = name_in(file.name)
            has_id = GivenNames().of_nodes(names, stem).id in names
            # Nodes may have a start and an end, a subject and an object.
            certain = stem.lower() not in _ANY_RELATIONSHIPS and (has_id or begins_with_id(names))
            if "_id" not in names and usual_ends(names, certain=certain):
                has_type = GivenNames().of_relationships(names).type in names
                one = len(self._files) == 1 or stem.lower() in _ANY_RELATIONSHIPS
                key = "" if has_type else _RELATED if one else stem
                relationships.append((key, table))
            elif has_id:
                generic = stem.lower() in _ANY_NODES
                has_labels = GivenNames().of_nodes(names).labels in names
                nodes.append(("" if has_labels or generic else stem, table))
            else:
                there = ", ".join(map(repr, names))
                raise SourceError(
                    f"{file.name}: has neither a column 'id' (nodes) nor 'source' and 'target' "
                    f"(relationships), nor others with usual names, but {there}; give the files "
                    "and the names of their columns to gpugda.graph"
                )
        tables = TablesSource(nodes or None, relationships, decimals=self._decimals, name=self.name)
        with tables.read(progress) as batches:
            yield batches


def open_files(path: str | os.PathLike[str]) -> GraphSource:
    """The graph in a file, a folder, a zip archive, or the files that match a pattern.

    Raises:
        SourceError: There is none.
    """
    there = path_of(path)
    suffixes = tuple(kind + packed for kind in _FOLDER for packed in _PACKED)
    with address_errors(there):
        is_packed = there.suffix == ".zip" and table_kind(there.name) is None
        files = list_folder(there, suffixes) if there.is_dir() or is_packed else None
    if files is not None:
        if any(map(has_import_header, files)):
            return ImportSource.from_folder(there)
        if not files:
            raise SourceError(
                f"The folder {shortened(there)!r} holds no graph: no snapshot, no files to import "
                f"({', '.join(DELIMITED)}) and no Parquet."
            )
        return FilesSource(files, there.name)
    files = expand_files(path)
    if all(table_kind(each.name) in (*EDGES, *MATRIX) for each in files):
        return EdgesSource(path)
    return FilesSource(files, there.name)


def given_files(
    nodes: Mapping[str, str],
    relationships: Mapping[str, str],
    *,
    delimiter: str | None = None,
    decimals: str = "exact",
    **options: Any,
) -> GraphSource:
    """Files by label and by type, with the headers of an import or with ordinary ones.

    Args:
        nodes: Files by labels; ``""`` if a column holds these.
        relationships: Files by types.
        delimiter: Separates fields; None for a comma in import files, else it is noticed.
        decimals: As for `TablesSource`; only Parquet and Arrow have decimal numbers.
        options: Of `ImportSource`; none has a meaning for files with ordinary headers.

    Raises:
        ConfigurationError: An option is wrong, or has no meaning for these files.
        SourceError: A file is missing.
    """
    mark = None if delimiter is None else csv_format(delimiter, '"').delimiter
    groups = [_files_of(nodes), _files_of(relationships)]
    files = [file for group in groups for _, file in group]
    is_import = any(has_import_header(each, mark) for each in files)
    _check_decimals(decimals, [] if is_import else files)
    if is_import:
        return ImportSource(nodes, relationships, delimiter=delimiter or ",", **options)
    usual = inspect.signature(ImportSource).parameters
    unused = [name for name, value in options.items() if value != usual[name].default]
    if unused:
        raise ConfigurationError(
            f"{', '.join(unused)}: only for files with headers of neo4j-admin database import"
        )
    if mark is None:
        return TablesSource(
            list(nodes.items()) or None,
            list(relationships.items()),
            decimals=decimals,
            name="files",
        )
    tables = [[(key, read_table(file, mark)) for key, file in files] for files in groups]
    return TablesSource(tables[0] or None, tables[1], decimals=decimals, name="files")


def _check_decimals(decimals: str, files: Iterable[InputFile]) -> None:
    typed = any(table_kind(each.name) in (*PARQUET, *ARROW) for each in files)
    if decimals != "exact" and not typed:
        raise ConfigurationError("decimals: only for Parquet and Arrow files")


def _files_of(groups: Mapping[str, str]) -> list[tuple[str, InputFile]]:
    return [(key, file) for key, files in groups.items() for file in expand_files(files)]
