"""Evolution strategies that teach a model to know what it knows (needs the extra ``train``: torch, transformers).

"Fine-Tuning Language Models to Know What They Know" (ESMA), arXiv 2602.02605. A model is asked a question and, in
another context, whether it knows the answer; a reward over (correct, yes) is raised by an evolution strategy. Results
and what is exact are in ``docs/training.md``. Training never asks a provider and never scores a study.

::

    settings, commands   the keys of [training]; `metacog train`
    steps, chain         base, taught, evolved, baselines, patched, measured: one asset each
    rewards, es          2 × 2 tables of rewards; population, standardised fitness, step
    weights              perturb, restore and update tensors, exactly
    worker, ray_engine   the population in this process, or on Ray actors
    run, figures         generations, log, checkpoints; learning curve, and why a run does not move
    causal, vllm_model   any causal language model in a local folder, in PyTorch or in vLLM
    interview, questions both questions, greedy answers, how they are read
    sft, grpo            baselines
    patching             which weights carry what was learnt
    preflight            what a run needs and can learn, before it is begun
    small                a small world and a small model, trained here
"""
