"""Ask the models of a study in processes apart, as a run does; for each line of the standard input, a study file.

A process is forked for each, so that nothing is loaded anew; its id is printed, and when it has ended its exit code.
"""

import os
import signal
import sys
from pathlib import Path

from metacog_assets import apart, parts, work  # noqa: F401
from metacog_assets.figures import Done, Place
from metacog_pipeline.asking.endings import INTERRUPTED
from metacog_pipeline.study import load_study


def ask(path: str) -> int:
    """Be a run that asks; return its exit code."""
    os.environ["METACOG_STUDY"] = path
    apart.start(int)
    places = [(Place("step", "metamedqa", each.name, 1),) for each in load_study(Path(path)).models]
    code = 0
    for number, found in apart.each(apart.MODELS, None, work.answer, places, 1):
        if not isinstance(found, Done):
            print(number, found, file=sys.stderr, flush=True)
            code = 1
    return 130 if INTERRUPTED.is_set() else code


def main() -> None:
    """Fork for each line."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.setsid()
                signal.signal(signal.SIGINT, signal.default_int_handler)
                code = ask(line.strip())
            except KeyboardInterrupt:
                code = 130
            finally:
                os._exit(code)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


main()
