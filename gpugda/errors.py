"""The errors that gpugda raises deliberately.

    GpugdaError
    ├── QueryError                      the query text or its parameters
    │   ├── CypherSyntaxError           not Cypher, or Cypher that Neo4j refuses to compile
    │   ├── UnsupportedQueryError       valid Cypher outside what this engine answers
    │   ├── CypherTypeError             a value of the wrong type at run time
    │   ├── CypherArgumentError         a value that a function does not accept, at run time
    │   │   └── CypherExecutionError    one of those for which Neo4j has no code of its own
    │   ├── CypherArithmeticError       an integer overflow or a division by zero
    │   └── ParameterMissingError       the query names a parameter that has no value
    ├── ConfigurationError              a setting, an option or the environment
    ├── SourceError                     the data source: unreadable, inconsistent, damaged
    │   └── StaleSnapshotError          the snapshot is older than the requested freshness
    ├── DeviceError                     OpenCL: no device, a failed build, a lost device
    │   └── MemoryLimitError            impossible within the memory limit
    ├── QueryTimeoutError               the time limit was reached; nothing was returned
    └── InternalError                   a fault of gpugda: report it

Neo4j's own errors pass through unchanged: ``except gpugda.Error`` catches them, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpugda.types import Span

__all__ = [
    "ConfigurationError",
    "CypherArgumentError",
    "CypherArithmeticError",
    "CypherExecutionError",
    "CypherSyntaxError",
    "CypherTypeError",
    "DeviceError",
    "GpugdaError",
    "InternalError",
    "MemoryLimitError",
    "ParameterMissingError",
    "QueryError",
    "QueryTimeoutError",
    "SourceError",
    "StaleSnapshotError",
    "UnsupportedQueryError",
]


class GpugdaError(Exception):
    """Base of all errors raised by gpugda."""


class QueryError(GpugdaError):
    """An error in a query, with its place in the text if known.

    Args:
        message: One sentence: what is wrong and what to do.
        text: The whole query text.
        span: The offending part of it; the error then shows its line with a caret.

    Attributes:
        code: Neo4j's status code for such an error; empty if Neo4j has none.
        line: 1-based line of the place, or None.
        column: 1-based column of the place, or None.
    """

    code: str = ""

    def __init__(self, message: str, text: str | None = None, span: Span | None = None) -> None:
        self.message = message
        self.text = text
        self.span = span
        self.line: int | None = None
        self.column: int | None = None
        if text is not None and span is not None:
            self.line, self.column = span.place(text)
            message = f"{message} (line {self.line}, column {self.column})\n{span.marked(text)}"
        super().__init__(message)


class CypherSyntaxError(QueryError):
    """The text is not Cypher, or Neo4j refuses to compile it.

    Args:
        kind: The last part of Neo4j's status code.

    Attributes:
        gql_status: The GQLSTATUS of Neo4j's error, such as ``42N07``; None if it only says that
            the query is invalid.
    """

    def __init__(
        self,
        message: str,
        text: str | None = None,
        span: Span | None = None,
        *,
        gql_status: str | None = None,
        kind: str = "SyntaxError",
    ) -> None:
        super().__init__(message, text, span)
        self.gql_status = gql_status
        self.code = f"Neo.ClientError.Statement.{kind}"


class UnsupportedQueryError(QueryError):
    """The query is valid, but has a construct that the requested engine does not answer.

    Attributes:
        construct: The construct's name, such as ``OPTIONAL MATCH``.
    """

    def __init__(
        self,
        message: str,
        text: str | None = None,
        span: Span | None = None,
        *,
        construct: str = "",
    ) -> None:
        super().__init__(message, text, span)
        self.construct = construct


class CypherTypeError(QueryError):
    """A value had a type for which the operation is not defined."""

    code = "Neo.ClientError.Statement.TypeError"


class CypherArgumentError(QueryError):
    """A value of the right type that a function does not accept, such as ``date('x')``."""

    code = "Neo.ClientError.Statement.ArgumentError"


class CypherExecutionError(CypherArgumentError):
    """Such a value for which Neo4j reports an internal failure, as for ``left('abc', -1)``."""

    code = "Neo.DatabaseError.Statement.ExecutionFailed"


class CypherArithmeticError(QueryError):
    """An integer exceeded 64 bits, or was divided by zero."""

    code = "Neo.ClientError.Statement.ArithmeticError"


class ParameterMissingError(QueryError):
    """The query uses a parameter for which no value was given."""

    code = "Neo.ClientError.Statement.ParameterMissing"


class ConfigurationError(GpugdaError):
    """A setting, an option or an environment variable is missing or invalid."""


class SourceError(GpugdaError):
    """The data source cannot be read, or is inconsistent."""


class StaleSnapshotError(SourceError):
    """The snapshot lacks the requested freshness, and could not be refreshed."""


class DeviceError(GpugdaError):
    """OpenCL failed: no platform or device, a kernel that does not build, a device that was lost.

    Attributes:
        build_log: The compiler's output if a kernel failed to build, else empty.
    """

    def __init__(self, message: str, *, build_log: str = "") -> None:
        super().__init__(message if not build_log else f"{message}\n{build_log}")
        self.build_log = build_log


class MemoryLimitError(DeviceError):
    """The work cannot be done within the memory limit, not even in parts."""


class QueryTimeoutError(GpugdaError):
    """The query took longer than its time limit."""


class StillCompilingError(QueryTimeoutError):
    """The time limit came while kernels were compiled: that says nothing about the query."""


class InternalError(GpugdaError):
    """An unexpected fault of gpugda. The message says what to report."""
