"""The contract between a benchmark and the pipeline. Start with ``contract``: all that an author of a benchmark reads."""
