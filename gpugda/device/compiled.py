"""Whether all kernels are compiled for a device, by this process or an earlier one."""

from __future__ import annotations

import hashlib
import json
import logging
from typing import TYPE_CHECKING

from gpugda.device.caches import pocl_folder
from gpugda.device.program_cache import program_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.device.context import DeviceContext

__all__ = ["is_compiled", "remember_compiled"]

_LOGGER = logging.getLogger("gpugda.device")
_known: set[str] = set()
"""Names of the sets of kernels that this process compiled by PoCL, which keeps them for all
contexts of the process.
"""


def is_compiled(context: DeviceContext, texts: Mapping[str, str]) -> bool:
    """True if no query on the device has to wait for a compiler.

    Args:
        context: The device.
        texts: Texts of its kernels, by file.
    """
    if context.is_pocl:
        name = _name(context, texts)
        context.everything_compiled = name in _known or (pocl_folder() / name).exists()
    else:
        context.everything_compiled = all(_is_kept(context, each) for each in texts.values())
    return context.everything_compiled


def remember_compiled(context: DeviceContext, texts: Mapping[str, str]) -> None:
    """Records that all kernels are compiled, for this process and, with PoCL, for later ones."""
    context.everything_compiled = True
    if not context.is_pocl:
        return
    name = _name(context, texts)
    _known.add(name)
    try:
        (pocl_folder() / name).touch()
    except OSError as error:
        _LOGGER.info("the next process will compile the kernels again: %s", error)


def _is_kept(context: DeviceContext, text: str) -> bool:
    profile = context.profile
    for options in ([*profile.options, *profile.defines], [*profile.defines]):
        path = program_file(context.info, text, options)
        if path is not None and path.exists():
            return True
    return False


def _name(context: DeviceContext, texts: Mapping[str, str]) -> str:
    """Name of a marker file in PoCL's cache: a digest of all that was compiled.

    The file is deleted together with the cache.
    """
    info, profile = context.info, context.profile
    device = [info.platform_version, info.name, info.version, info.driver_version]
    made_from = [*device, *profile.options, *profile.defines, *texts.values()]
    return f"gpugda-{hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:32]}"
