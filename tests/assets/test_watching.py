"""``metacog status --watch`` beside a ``metacog run``: progress, money, time left, failures as partitions come and go."""

import re
import threading
import time

from metacog_assets import following
from metacog_assets.launch import Launcher
from metacog_assets.study_file import current_study
from tests.simulated_server import ServerThread

ITEMS = 6
LINE = re.compile(
    r"(\d) of 2 model runs complete, (\d+) of 12 answers, spent \$([\d.]+), \d working, 0 queued(, about .* left)?"
)
PRICED = {"price_in": 100, "price_out": 100}


def test_a_run_beside_it_is_followed_to_its_end(bench_on_disk, http, respondent, monkeypatch):
    bench, lines, calls = bench_on_disk, [], []
    seen = {count: threading.Event() for count in (2, 4)}  # answers that whoever watches must have told of

    def say(launcher, line):
        lines.append(line)
        for count, event in seen.items():
            if f"{count} of 12 answers" in line:
                event.set()

    def respond(name, request):
        calls.append(name)
        if (told := seen.get(len(calls) - 1)) is not None:
            assert told.wait(60)
        return respondent(request)

    monkeypatch.setattr(Launcher, "say", say)
    monkeypatch.setattr(following, "LOOK_S", 0.05)
    with ServerThread(respond) as server:
        own = {"base_url": f"{server.url}/v1", "max_concurrency": 1, **PRICED}
        bench.write(http("dead", api_key_env="NOT_SET_ANYWHERE"), http("slow", **own), limit=ITEMS)
        running = bench.command()
        until = time.monotonic() + 60
        while not calls and time.monotonic() < until:
            time.sleep(0.01)
        code = following.watch(Launcher(current_study(), bench.instance))
        _, err = running.communicate()
    assert calls == ["slow"] * ITEMS
    told = [found for line in lines if (found := LINE.fullmatch(line))]
    answers, money = [int(each[2]) for each in told], [float(each[3]) for each in told]
    assert answers == sorted(answers) and money == sorted(money), lines
    assert {2, 4} < set(answers) and answers[-1] == ITEMS and told[-1][1] == "1"
    after = next(each for each in told if each[2] == "4")
    assert after[1] == "0" and float(after[3]) > 0 and after[4], "told in the middle of a partition"
    (failure,) = [line for line in lines if line.startswith("failed: ")]
    assert "metamedqa_transcripts, dead, run 1" in failure and "NOT_SET_ANYWHERE" in failure
    assert lines[-1] == "done; 1 failed"
    assert code != 0 and running.returncode != 0, err
