"""How long a call takes: the least of some times, because whatever else the machine does only adds to it."""

import time
from collections.abc import Callable


def least(
    run: Callable[[], object],
    times: int = 1,
    before: Callable[[], object] = lambda: None,
    clock: Callable[[], float] = time.process_time,
) -> float:
    """Return the least seconds, of the processor unless of another ``clock``, of ``run`` after ``before``."""
    found = []
    for _ in range(times):
        before()
        start = clock()
        run()
        found.append(clock() - start)
    return min(found)
