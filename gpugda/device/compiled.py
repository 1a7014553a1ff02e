"""Whether all kernels are compiled for a device, by this process or an earlier one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.device.pocl_programs import has_kernels
from gpugda.device.program_cache import program_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.device.context import DeviceContext

__all__ = ["is_compiled"]


def is_compiled(context: DeviceContext, texts: Mapping[str, str]) -> bool:
    """True if no query on the device has to wait for a compiler.

    Args:
        context: The device.
        texts: Texts of its kernels, by file.
    """
    context.everything_compiled = all(_is_kept(context, each) for each in texts.values())
    return context.everything_compiled


def _is_kept(context: DeviceContext, text: str) -> bool:
    profile = context.profile
    for options in ([*profile.options, *profile.defines], [*profile.defines]):
        if context.is_pocl:
            if has_kernels(context.info, text, options, context.group_size):
                return True
        else:
            path = program_file(context.info, text, options)
            if path is not None and path.exists():
                return True
    return False
