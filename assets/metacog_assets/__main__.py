"""``python -m metacog_assets``: run the study named by ``METACOG_STUDY``; loading Dagster can be interrupted too."""

import gc
import sys

try:
    gc.disable()  # what is loaded stays: nothing of it is garbage, and looking for some takes a tenth of the time
    from metacog_assets import apart, parts, work  # noqa: F401  # what work needs, loaded once for all processes
    from metacog_assets.study_file import load_own_benchmarks
    from metacog_pipeline.leaderboard.models import load_project
    from metacog_pipeline.llm import open as opening  # noqa: F401  # what asks, for the same reason

    load_own_benchmarks()
    gc.freeze()
    apart.start(load_project)
    from metacog_assets.command import main

    gc.freeze()
    gc.enable()
    gc.set_threshold(*apart.SELDOM)
    main()
    code: str | int | None = 0
except SystemExit as ended:
    code = ended.code
except KeyboardInterrupt:
    print("metacog: interrupted; everything answered so far is kept", file=sys.stderr)
    code = 130
finally:
    gc.unfreeze()  # a crash ends the usual way, and DuckDB calls leaked what the collector does not see then

sys.exit(code)
