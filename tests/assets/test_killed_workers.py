"""A worker is killed at a stage of a run: the run ends and says at what, and the next one goes on without asking again.

``tests/proofs/test_workers.py`` does it at random times in every stage.
"""

from pathlib import Path

STAGED = Path(__file__).parents[1] / "staged.py"
BOARD = "select * from leaderboard order by all"
#: The last thing a killed worker did, and what is named then.
STAGES = {
    "read": ("metamedqa_responses, first, run 1", "metamedqa_responses, second, run 1"),
    "scores": ("metamedqa_scores",),
    "board": ("leaderboard",),
    "report": ("report",),
}


def run(bench, *flags, killed=""):
    """Run the study with a worker killed at the end of one stage; return the exit code and the lines of complaint."""
    done = bench.loaded.python(STAGED, "--quiet", *flags, **bench.environment(), KILLED=killed)
    _, err = done.communicate()
    return done.returncode, err.splitlines()


def test_a_worker_killed_at_any_stage_costs_a_run_and_no_answer(bench, http, provider):
    bench.write(http("first"), http("second"))
    assert run(bench) == (0, [])
    board, calls = bench.sql(BOARD), dict(provider.calls)
    for stage, named in STAGES.items():
        code, lines = run(bench, "--force", killed=stage)
        assert code == 1, lines
        assert [line.partition(": the process that did this work ended")[0] for line in lines] == [
            f"metacog: {each}" for each in named
        ]
    assert run(bench) == (0, [])
    assert bench.sql(BOARD) == board
    assert provider.calls == calls, "nothing is asked again"
