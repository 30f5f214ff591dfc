"""The benchmarks, one folder each with the same file names; and what spans them: plans and simulated servers."""
