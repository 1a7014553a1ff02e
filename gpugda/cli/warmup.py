"""``gpugda warmup``: compiles the kernels in advance, so that no query has to wait."""

from __future__ import annotations

import sys
import time
from contextlib import closing

__all__ = ["warm_up"]


def warm_up(device: str | None) -> None:
    """Compiles the kernels that are not compiled yet for a device, and prints the time.

    Raises:
        DeviceError: There is no such device, or a kernel does not build.
    """
    from gpugda.config import requested_device
    from gpugda.match.session import DeviceSession

    started = time.monotonic()
    with closing(DeviceSession(requested_device(device), None, "once")) as session:
        name = session.info.name
        if session.warm_soon():
            session.warm()
            sys.stdout.write(
                f"compiled the kernels for {name} in {time.monotonic() - started:.0f} s\n"
            )
        else:
            sys.stdout.write(f"the kernels for {name} are compiled\n")
