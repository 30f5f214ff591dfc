"""Asking through the providers' batches: half the price, an answer within a day, nothing submitted twice."""
