"""All benchmarks in one picture: what they measure alike, whether they agree, which of two models is better.

``readings`` takes from every benchmark's observations what all have: was the item answered correctly, and how sure was
the respondent. ``alike`` computes accuracy, ECE, Brier score, AUROC2 and meta-d′ from that in one way, so that a column
means one thing whatever the benchmark; ``paired`` compares two models on the items both answered; ``traits`` says which
measure stands for what, and ``validity`` asks over models whether measures of different benchmarks go together.
"""
