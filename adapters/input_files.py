"""Input files: plain, compressed, or members of a zip archive."""

from __future__ import annotations

import glob
import gzip
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from gpugda.errors import ConfigurationError, GpugdaError, SourceError

from .bounded_stream import BoundedStream

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "READ_ERRORS",
    "InputFile",
    "address_errors",
    "expand_files",
    "list_folder",
    "path_of",
    "shortened",
]

_SHOWN = 200
_CREDENTIALS = re.compile(r"://[^/\s]*@")

# A pattern of a shell, as opposed to a regular expression such as "part.*" or "part\\d*".
_GLOB = re.compile(r"[^\\]*(?:(?<![.)\]}])[*?]|\*\*)[^\\]*")

READ_ERRORS = (
    *(OSError, EOFError, MemoryError, zlib.error, lzma.LZMAError, zipfile.BadZipFile),
    *(NotImplementedError, RuntimeError),  # zipfile: other compressions, and passwords
)
"""Errors of reading damaged or compressed files."""


def path_of(text: str | os.PathLike[str]) -> Path:
    """A path; for an address such as ``s3://bucket/file``, one that reads through fsspec.

    Raises:
        ConfigurationError: The packages for such an address are missing.
    """
    address = os.fspath(text)
    if not _is_address(address):
        return Path(address)
    try:
        from upath import UPath

        path = UPath(address)
        _ = path.fs  # imports the protocol's package, and may connect
    except (ImportError, ValueError) as error:  # ValueError: no such protocol
        raise ConfigurationError(
            f"{shortened(address)} cannot be read: {_line_of(error)}. Addresses of files need "
            "gpugda[remote] and fsspec's package for the protocol, such as s3fs, gcsfs or paramiko."
        ) from error
    except Exception as error:  # each protocol has its own
        raise SourceError(f"{shortened(address)} cannot be read: {_line_of(error)}") from error
    return cast("Path", path)


def _is_address(path: object) -> bool:
    """True for a path that fsspec reads; of universal-pathlib 0.2 it is a `Path`, too."""
    return "://" in str(path)


@contextmanager
def address_errors(path: Path) -> Iterator[None]:
    """Raises SourceError for an error of looking up an address; each protocol has its own."""
    try:
        yield
    except Exception as error:
        if isinstance(error, GpugdaError) or not _is_address(path):
            raise
        raise SourceError(f"{shortened(path)}: cannot be read: {_line_of(error)}") from error


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file, optionally compressed (``.gz``, ``.xz``, a ``.zip`` of one file) or in an archive.

    Args:
        path: The file itself, or the archive.
        member: Name within the archive.
    """

    path: Path
    member: str | None = None

    @property
    def name(self) -> str:
        """Short name for messages."""
        return self.path.name if self.member is None else Path(self.member).name

    @property
    def size(self) -> int | None:
        """Uncompressed size in bytes; None if it is unknown before reading."""
        if self.member is not None:
            with zipfile.ZipFile(_local(self.path)) as archive:
                return archive.getinfo(self.member).file_size
        if self.path.suffix.lower() in {".gz", ".xz", ".zip"}:
            return None
        return self.path.stat().st_size

    def refuse_missing(self) -> None:
        """Raises SourceError unless the file exists."""
        if not _is_file(self.path):
            raise SourceError(f"{shortened(self.path)}: there is no such file")

    def local(self) -> Any:
        """The path of a plain local file, or the bytes of another one, for Arrow's readers."""
        if self.member is None and not _is_address(self.path) and self.size is not None:
            return self.path
        import pyarrow as pa

        with self.open() as stream:
            return pa.BufferReader(stream.read())

    def open(self) -> BinaryIO:
        """The uncompressed bytes.

        Raises:
            SourceError: It cannot be opened, or is an archive of several files.
        """
        try:
            return self._open()
        except READ_ERRORS as error:
            raise SourceError(f"{self.name}: cannot be read: {error}") from error

    def _open(self) -> BinaryIO:
        suffix = self.path.suffix.lower()
        if self.member is not None:
            archive = zipfile.ZipFile(_local(self.path))
            packed = archive.getinfo(self.member).compress_size
            return self._bounded(archive.open(self.member), packed)
        if suffix == ".gz":
            return self._bounded(gzip.open(_local(self.path), "rb"), self.path.stat().st_size)
        if suffix == ".xz":
            return self._bounded(lzma.open(_local(self.path), "rb"), self.path.stat().st_size)
        if suffix == ".zip":
            return self._open_only_member()
        return self.path.open("rb")

    def _open_only_member(self) -> BinaryIO:
        archive = zipfile.ZipFile(_local(self.path))
        members = [entry for entry in archive.infolist() if not entry.is_dir()]
        if len(members) != 1:
            archive.close()
            raise SourceError(
                f"{self.name}: holds {len(members)} files where one is expected; "
                "read the whole archive as a folder, or unpack it"
            )
        return self._bounded(archive.open(members[0]), members[0].compress_size)

    def _bounded(self, stream: Any, packed_bytes: int) -> BinaryIO:
        return cast("BinaryIO", BoundedStream(stream, packed_bytes, self.name))


def _local(path: Path) -> Any:
    """The path of a local file, or a stream of another one."""
    return path.open("rb") if _is_address(path) else path


def list_folder(path: Path, suffixes: tuple[str, ...]) -> list[InputFile]:
    """Files with these suffixes, directly in a folder or anywhere in a zip archive, by name."""
    if path.is_dir():
        names = sorted(entry for entry in path.iterdir() if entry.is_file())
        files = [InputFile(entry) for entry in names]
    elif path.name.lower().endswith(".zip") or zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(_local(path)) as archive:
                entries = archive.infolist()
        except READ_ERRORS as error:
            raise SourceError(f"{shortened(path)}: cannot be read: {error}") from error
        members = sorted(entry.filename for entry in entries if not entry.is_dir())
        files = [InputFile(path, member) for member in members if "__MACOSX" not in member]
    else:
        raise SourceError(f"{shortened(path)}: is neither a folder nor a zip archive")
    return [file for file in files if file.name.lower().endswith(suffixes)]


def expand_files(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
) -> list[InputFile]:
    """The files that an argument names.

    A path, several in one text separated by commas, or a sequence of paths. A text that names no
    file is a pattern with ``*``, or a regular expression on the names in its folder; matches are
    in natural order (``part2`` before ``part10``).

    Raises:
        ConfigurationError: It is none of these.
        SourceError: No file is found.
    """
    if not isinstance(files, str):
        return [file for piece in _pieces(files) for file in _expand_one(piece)]
    whole = path_of(files)
    if _is_file(whole):
        return [InputFile(whole)]
    return [file for piece in files.split(",") for file in _expand_one(piece.strip())]


def _pieces(files: object) -> list[str | os.PathLike[str]]:
    several = isinstance(files, Iterable) and not isinstance(files, bytes | os.PathLike | Mapping)
    pieces: list[Any] = list(files) if several and isinstance(files, Iterable) else [files]
    for piece in pieces:
        if not isinstance(piece, str | os.PathLike) or not isinstance(os.fspath(piece), str):
            raise ConfigurationError(
                f"files are given as a path or a sequence of paths, not as {piece!r}"
            )
    return pieces


def _is_file(path: Path) -> bool:
    try:
        with address_errors(path):
            return path.is_file()
    except OSError as error:  # the name is too long, or the folder is not accessible
        raise SourceError(f"{shortened(path)}: cannot be looked up: {error.strerror}") from error


def _line_of(error: Exception) -> str:
    """The first line of a message, without credentials."""
    return shortened((str(error) or type(error).__name__).splitlines()[0])


def shortened(path: object) -> str:
    """A path or an address for messages, without credentials."""
    text = _CREDENTIALS.sub("://…@", str(path))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _expand_one(piece: str | os.PathLike[str]) -> list[InputFile]:
    path = path_of(piece)
    if _is_file(path):
        return [InputFile(path)]
    with address_errors(path):
        found = _matching(path)
    if not found:
        shown = shortened(path)
        raise SourceError(f"{shown}: there is no such file, nor one whose name it matches")
    return found


def _matching(path: Path) -> list[InputFile]:
    if _GLOB.fullmatch(str(path)):
        found = [each for each in _glob(path) if each.is_file()]
        return [InputFile(each) for each in sorted(found, key=_natural)]
    if not path.parent.is_dir():
        return []
    try:
        expression = re.compile(path.name)
    except re.error:
        return []
    matches = [entry for entry in path.parent.iterdir() if expression.fullmatch(entry.name)]
    return [InputFile(entry) for entry in sorted(matches, key=_natural) if entry.is_file()]


def _glob(path: Path) -> list[Path]:
    if _is_address(path):
        return list(path.parent.glob(path.name))
    return [Path(each) for each in glob.glob(str(path), recursive=True)]


def _natural(path: Path) -> list[tuple[int, str]]:
    pieces = re.findall(r"\d+|\D+", str(path))
    return [(int(piece), "") if piece.isdigit() else (-1, piece) for piece in pieces]
