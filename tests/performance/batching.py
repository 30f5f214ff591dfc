"""Ask 50,000 questions through one batch in a process of its own; prints seconds of processor time and the peak in MB.

``python tests/performance/batching.py STUDY COUNT``; the study's only model is asked at a server in another process.
"""

import json
import resource
import sys
import time
from pathlib import Path

from metacog_pipeline.asking.session import Partition, query_partition
from metacog_pipeline.asking.types import Ask, Task
from metacog_pipeline.llm.types import Message
from metacog_pipeline.study import load_study
from tests.performance.asking import peak_mb

PROMPT = "Which of the following findings would most likely be seen in this patient? " * 14  # about 1 kB


def task(number: int) -> Task:
    """Return one question."""

    async def run(ask: Ask, mode: str) -> None:
        await ask("answer", [Message("user", f"{number} {PROMPT}")])

    return Task(f"q{number}", "hash", "baseline", run)


def main() -> None:
    study = load_study(Path(sys.argv[1]))
    partition = Partition(study, "signaldetection", study.models[0], 1)
    held_before = peak_mb()
    before = resource.getrusage(resource.RUSAGE_SELF)
    todo = [task(number) for number in range(int(sys.argv[2]))]
    while (outcome := query_partition(partition, todo, ("text",), fingerprint="f")).waiting:
        time.sleep(1.0)  # no session waits for a provider
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = {"cpu_s": cpu, "peak_mb": peak_mb(), "before_mb": held_before}
    print(json.dumps({**found, "answered": outcome.answered, "stopped": outcome.stopped}))


if __name__ == "__main__":
    main()
