"""Whether everything is compiled for a device, by this process or an earlier one."""

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
"""What this process has compiled by PoCL, which keeps it for all contexts."""


def is_compiled(context: DeviceContext, texts: Mapping[str, str]) -> bool:
    """Would no query on the device wait for a compiler?

    Args:
        context: The device.
        texts: Of its kernels, by file.
    """
    if context.is_pocl:
        name = _name(context, texts)
        context.everything_compiled = name in _known or (pocl_folder() / name).exists()
    else:
        context.everything_compiled = all(_is_kept(context, each) for each in texts.values())
    return context.everything_compiled


def remember_compiled(context: DeviceContext, texts: Mapping[str, str]) -> None:
    """Everything is compiled now: said for this process and, where PoCL keeps it, for others."""
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
    """Of a file beside what PoCL keeps, so that it goes with it; made from what was compiled."""
    info, profile = context.info, context.profile
    device = [info.platform_version, info.name, info.version, info.driver_version]
    made_from = [*device, *profile.options, *profile.defines, *texts.values()]
    return f"gpugda-{hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:32]}"
