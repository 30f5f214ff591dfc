"""Statistics on plain arrays: no frames, no files, no names of benchmarks.

Every function takes arrays (or n, mean, sd), and returns a frozen dataclass. Where there is no number, a ``status``
says why; no NaN, warning or exception comes out of degenerate data. Wrong shapes, values out of range and
non-finite numbers are a :class:`ValueError`. Whatever draws random numbers takes a seed.
Functions are imported from their module, ``from metacog_pipeline.stats.auroc import auroc``.

=================  ==================================================================================
estimate           one number with its interval, or the reason there is none
proportions        means and shares of independent items: Wilson, SEM
clusters           items with their repeated runs as the unit of chance: patterns, resampling
ratios             measures that are a ratio of weighted cell counts, any number of runs
calibration        expected calibration error, Brier score, reliability
auroc              area under the type-2 ROC curve
anova              one-way ANOVA, Tukey-Kramer, Fisher's LSD
studentized_range  the distribution behind Tukey-Kramer, for thousands of pairs at once
effects            Cohen's d, Hedges' g
correlation        Pearson's r, a straight line, with and without named outliers
paired             models on the same items: bootstrap, McNemar, Cochran's Q
agreement          Cohen's kappa
multiple           Holm's correction, stars
bayes.gate         when a posterior may give numbers: convergence of every parameter; the stream of a model
bayes.single       meta-d' of one cell by Markov chains: a posterior that must converge to give numbers
decisions          practical equivalence, HDI, Bonferroni Z, contrasts of draws, criterion shifts, paired shifts
counts             trials of a binary task with ratings -> counts; corrections, named and never implicit
type1              d', c, c', ln beta, d_a, c_a with delta-method variances; slope of the zROC
type2              rates and AUROC by confidence, from counts or any scale; quantile bins
type2_dprime       d'type2 and its companions from yes/no × correct/wrong
yes_no             the same with clipped rates; what a yes tells; the graded yes of two logits
roc                points of the type-2 ROC, densities of confidence, differences of areas
meta_information   bits confidence tells about correctness: meta-I, RMI, bias correction
folded             meta-d' where only correct or wrong is known: the two-alternative equivalent
observers          simulated observers of given d', M-ratio, criterion: expected and drawn counts
bayes.group        the group model: efficiency of a population, contrasts of independent groups
power              simulated power of M-ratio, d' and criterion differences; trials needed
metad              meta-d' and M-ratio by maximum likelihood, many cells at once, and their bootstrap
=================  ==================================================================================
"""
