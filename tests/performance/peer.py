"""Ask the same questions with inspect-ai and print what it took as one line of JSON; run by the peers' own interpreter.

``peer.py URL FOLDER COUNT IN_FLIGHT PROMPT_BYTES``: COUNT multiple-choice samples of PROMPT_BYTES through its
OpenAI-compatible provider. ``cpu_s`` is the processor time of the process and its children from after the imports.
"""

import json
import os
import resource
import sys
import time
from pathlib import Path

from inspect_ai import Task, __version__, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice

SENTENCE = "Which of the following findings would most likely be seen in this patient? "
OPTIONS = ["Anaemia", "Fever", "Jaundice", "Oedema", "None of the above", "I don't know or cannot answer"]


def processor_s() -> float:
    """Return the processor time of this process and of children that have ended."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def main() -> None:
    """Run one evaluation."""
    url, folder, count, in_flight, prompt_bytes = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:6])
    os.environ.update(LOCAL_API_KEY="none", LOCAL_BASE_URL=f"{url}/v1", INSPECT_EVAL_LOG_FILE_PATTERN="log")
    question = (SENTENCE * (prompt_bytes // len(SENTENCE) + 1))[:prompt_bytes]
    samples = [Sample(input=f"{n} {question}", choices=OPTIONS, target="A") for n in range(count)]
    task = Task(dataset=MemoryDataset(samples), solver=multiple_choice(), scorer=choice())
    processor, clock = processor_s(), time.perf_counter()
    logs = eval(
        task, model="openai-api/local/bench", max_connections=in_flight, max_tokens=64, temperature=0.0,
        max_samples=in_flight, log_dir=str(folder), display="none",
    )  # fmt: skip
    processor, clock = processor_s() - processor, time.perf_counter() - clock
    assert logs[0].status == "success", logs[0].error
    assert logs[0].results.completed_samples == count
    print(json.dumps({"cpu_s": processor, "wall_s": clock, "version": __version__}))


if __name__ == "__main__":
    main()
