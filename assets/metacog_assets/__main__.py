"""``python -m metacog_assets``: run the study named by ``METACOG_STUDY``; loading Dagster can be interrupted too."""

import sys

try:
    from metacog_assets.command import main

    main()
except KeyboardInterrupt:
    print("metacog: interrupted; everything answered so far is kept", file=sys.stderr)
    sys.exit(130)
