"""The jar of gpugda's plugin for Neo4j, included in the package."""

from __future__ import annotations

from importlib.resources import files

from gpugda.errors import ConfigurationError

__all__ = ["JAR_NAME", "read_plugin_jar"]

JAR_NAME = "gpugda-neo4j-plugin.jar"


def read_plugin_jar() -> bytes:
    """The bytes of the jar.

    Raises:
        ConfigurationError: It was not built before gpugda was installed.
    """
    package = (__package__ or "").partition(".")[0]
    file = files(package) / "neo4j_plugin" / JAR_NAME
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise ConfigurationError(
            f"This gpugda was installed without {JAR_NAME}: in a checkout, build it with "
            "`make plugin`, which needs Maven and a JDK of version 17 or later."
        ) from None
