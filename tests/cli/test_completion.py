"""Shell completion is click's own: words are completed without a study or a network."""

import os
import subprocess
import sys

from tests.tables import every

CALL = [sys.executable, "-c", "from metacog_pipeline.cli import main; main()"]


@every(
    ("typed", "found"),
    [
        ("metacog s", ["status", "show", "sql", "serve"]),
        ("metacog board --format j", ["json"]),
        ("metacog exp", ["export"]),  # explain and explore were removed
    ],
)
def test_commands_options_and_choices_are_completed(typed, found):
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1)}
    environment = {**os.environ, "_METACOG_COMPLETE": "bash_complete", **asked}
    done = subprocess.run(CALL, capture_output=True, text=True, timeout=60, env=environment)
    assert [line.partition(",")[2] for line in done.stdout.splitlines()] == found
