"""Bayesian meta-d′: density, sampler, diagnostics, and the posterior of one subject or of a group."""
