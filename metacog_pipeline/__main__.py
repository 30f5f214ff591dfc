"""``python -m metacog_pipeline`` is the ``metacog`` command."""

from metacog_pipeline.cli import main

main()
