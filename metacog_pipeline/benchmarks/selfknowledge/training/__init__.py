"""Evolution strategies that teach a model to know what it knows (needs the extra ``train``: torch, transformers).

It never asks a provider, never writes into a study's transcripts, never scores a study. Start with ``run``; the results and
what is exact are in ``docs/training.md``.

"Fine-Tuning Language Models to Know What They Know" (ESMA), arXiv 2602.02605. A model is asked a question and, in another
context, whether it knows the answer; a reward over (correct, yes) is raised by an evolution strategy: perturb all
weights with seeded noise, ask the same questions, step along the noise weighted by standardised rewards.

::

    rewards, shaping   2 × 2 tables of rewards; standardised fitness
    seeds, noise       seeds from (run, generation, individual); normals from (seed, tensor, element)
    weights            perturb, restore and update the tensors of a model, exactly
    es, run            one generation; a whole run with log, checkpoints and curves
    engines/           the population in this process, in several, or in Ray actors
    toy/               a world of invented people in which all of it takes a minute
    causal/            any causal language model in a local folder
    sft, patching      baselines, and which weights carry what was learnt
"""
