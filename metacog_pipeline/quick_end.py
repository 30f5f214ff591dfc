"""The end of a process at once: threads and exit handlers finish what they have to, what was loaded is not taken apart."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import NoReturn


def end(code: object) -> NoReturn:
    """End the process with the code of a ``SystemExit``.

    To take apart what was loaded takes up to a second of processor time, for a process that ends. Threads and exit handlers
    are finished in the interpreter's own order; where a stream cannot be written, it ends the usual way, which says so.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        sys.exit(code if isinstance(code, int) else int(code is not None))
    os._exit(code if isinstance(code, int) else int(code is not None))
