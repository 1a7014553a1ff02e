"""``gpugda mcp``: an MCP server on standard input and output."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from gpugda.cli.run import open_accelerator
from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from gpugda.cli.options import SourceOptions

__all__ = ["serve_tools"]


def serve_tools(
    source: SourceOptions,
    rows: int,
    seconds: float,
    device: str | None,
    memory_limit: str | None,
) -> None:
    """Serves until standard input ends.

    Raises:
        ConfigurationError: The package ``mcp`` is not installed.
        GpugdaError: As `gpugda.connect` does.
    """
    if find_spec("mcp") is None:
        raise ConfigurationError("gpugda mcp needs the package mcp: pip install 'gpugda[mcp]'.")
    from gpugda.mcp.server import Limits, make_server

    with open_accelerator(source, device, memory_limit) as accelerator:
        make_server(accelerator, Limits(rows, seconds)).run("stdio")
