"""The comparisons: of criteria between conditions, of efficiency by posteriors, of models item by item."""
