"""Query a partition of numbered questions in a process of its own and print what it took as one line of JSON.

``asking.py URL FOLDER COUNT IN_FLIGHT PROMPT_BYTES``: asks COUNT different questions of PROMPT_BYTES through the whole
engine (prompt rendering, store, budget, client, journal, compaction) of a provider at URL. Run again on the same
FOLDER it resumes the finished partition.

Printed: ``cpu_s`` and ``wall_s`` of ``query_partition`` alone, imports excluded; ``rate`` answers a second without the
first and the last tenth; resident ``rss_mb`` before, after each thousand answers, and at the end; ``peak_mb`` the highest.
"""

import json
import resource
import sys
import time
from pathlib import Path

from metacog_pipeline.asking.session import Partition, query_partition
from metacog_pipeline.asking.tasks import ItemChat
from metacog_pipeline.asking.types import Ask, Task
from metacog_pipeline.benchmarks.metamedqa.items import Item
from metacog_pipeline.benchmarks.metamedqa.prompts import ask_item, load_wording
from metacog_pipeline.study import load_study

STUDY = """
[study]
name = "bench"
home = "home"
budget_usd = 1000
[[models]]
name = "local"
provider = "openai"
model = "local"
base_url = "{url}/v1"
max_concurrency = {in_flight}
answer_mode = "text"
top_logprobs = 0
price_in = 0.15
price_out = 0.6
[benchmarks.metamedqa]
dataset = "sample"
"""
SENTENCE = "Which of the following findings would most likely be seen in this patient? "
OPTIONS = ("Anaemia", "Fever", "Jaundice", "Oedema", "None of the above", "I don't know or cannot answer")


def resident_mb() -> float:
    """Return the memory this process holds now."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * resource.getpagesize() / 2**20


def peak_mb() -> float:
    """Return the most memory this program ever held; ``ru_maxrss`` would include what its parent held when it forked."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def numbered_task(number: int, question: str, spec: object, words: object) -> Task:
    """Return a task whose question is worded only when it is asked."""

    async def run(ask: Ask, mode: str) -> None:
        item = Item(
            item_id=f"item-{number}",
            position=number,
            question=f"{number} {question}",
            options=OPTIONS,
            target="A",
            kind="Original",
            meta_info="step1",
            dataset="custom",
        )
        await ask_item(item, "role", ItemChat(ask, mode, spec), words)  # type: ignore[arg-type]

    return Task(f"item-{number}", f"{number:064d}", "role", run)


def main() -> None:
    url, folder, count, in_flight, prompt_bytes = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:6])
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "study.toml"
    file.write_text(STUDY.format(url=url, in_flight=in_flight))
    study = load_study(file)
    words = load_wording(None)
    question = (SENTENCE * (prompt_bytes // len(SENTENCE) + 1))[:prompt_bytes]
    tasks = [numbered_task(number, question, study.models[0], words) for number in range(count)]
    times = [0.0] * (count + 1)
    memory: list[float] = []

    def note(done: int, total: int, dollars: float) -> None:
        times[done] = time.perf_counter()
        if done % 1000 == 0:
            memory.append(resident_mb())

    before = resident_mb()
    processor, clock = time.process_time(), time.perf_counter()
    outcome = query_partition(
        Partition(study, "metamedqa", study.models[0], 1), tasks, ("text",), fingerprint="", on_progress=note
    )
    processor, clock = time.process_time() - processor, time.perf_counter() - clock
    assert outcome.complete, outcome.stopped
    first, last = count // 10, count - count // 10
    print(
        json.dumps(
            {
                "cpu_s": processor,
                "wall_s": clock,
                "rate": (last - first) / max(1e-9, times[last] - times[first]),
                "rss_mb": [before, *memory, resident_mb()],
                "peak_mb": peak_mb(),
                "calls": outcome.tally.calls,
                "reused": outcome.tally.reused,
            }
        )
    )


if __name__ == "__main__":
    main()
