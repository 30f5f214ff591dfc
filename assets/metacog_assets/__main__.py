"""``python -m metacog_assets``: run the study named by ``METACOG_STUDY``; loading Dagster can be interrupted too."""

import gc
import sys

try:
    gc.disable()  # what is loaded stays: nothing of it is garbage, and looking for some takes a tenth of the time
    from metacog_assets.command import main

    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 50)  # answers are many small objects, and almost none of them garbage
    main()
except KeyboardInterrupt:
    print("metacog: interrupted; everything answered so far is kept", file=sys.stderr)
    sys.exit(130)
finally:
    gc.unfreeze()  # DuckDB calls leaked what the collector does not see at the end
