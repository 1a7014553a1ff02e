"""``gpugda plugin``: installs or exports the plugin for Neo4j."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from gpugda.cli.failures import say
from gpugda.errors import ConfigurationError
from gpugda.sources import adapter

__all__ = ["export_plugin", "install_plugin"]

_ALLOWLIST = "dbms.security.procedures.allowlist"


def install_plugin(home: str) -> None:
    """Writes the jar into the plugins folder of a Neo4j on this machine.

    Raises:
        ConfigurationError: ``home`` is not a Neo4j home, or cannot be written to.
    """
    folder = Path(home)
    if not any((folder / each).is_dir() for each in ("plugins", "conf", "data", "lib")):
        raise ConfigurationError(
            f"{home} is no home of Neo4j: it has none of the folders plugins, conf, data and lib. "
            "On Debian it is /var/lib/neo4j; for a container or Neo4j Desktop see docs/plugin.md."
        )
    target = folder / "plugins" / adapter("bolt").plugin_name
    replaced = target.exists()
    _write(target)
    say(f"{'replaced' if replaced else 'installed'} {target}")
    if _is_left_out(folder / "conf" / "neo4j.conf"):
        say(f"neo4j.conf sets {_ALLOWLIST}: add gpugda.* to it")
    say("restart the server; then `gpugda status` says that the plugin is used")


def export_plugin(path: str) -> None:
    """Writes the jar to a file, or into a folder.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    target = Path(path)
    if target.is_dir():
        target /= adapter("bolt").plugin_name
    _write(target)
    say(f"wrote {target}; how a server finds it: docs/plugin.md")


def _write(target: Path) -> None:
    """Writes the jar atomically, as a server may be starting."""
    content: bytes = adapter("bolt").plugin_jar()
    part = None
    try:
        target.parent.mkdir(exist_ok=True)
        descriptor, part = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(part).chmod(0o644)  # the server runs as another user
        Path(part).replace(target)
    except OSError as error:
        if part is not None:
            with suppress(OSError):
                Path(part).unlink()
        reason = error.strerror or str(error)
        raise ConfigurationError(f"{target} cannot be written: {reason}.") from error


def _is_left_out(configuration: Path) -> bool:
    """True if the configuration has an allowlist of procedures without gpugda's."""
    try:
        lines = configuration.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    for line in lines:
        name, _, value = line.partition("=")
        if name.strip() == _ALLOWLIST:
            allowed = {each.strip() for each in value.split(",")}
            return not allowed & {"*", "gpugda.*"}
    return False
