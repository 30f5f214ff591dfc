"""The Dagster code location: names the assets and their edges, nothing else."""
