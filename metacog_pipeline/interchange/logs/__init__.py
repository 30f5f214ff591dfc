"""Logs of other programs as answers of replayed models.

=================  ==================================================================
``sample``         what a log says of one answer, whatever program wrote it
``inspect_log``    inspect_ai, ``.eval`` and ``.json``
``harness``        lm-eval, ``samples_*.jsonl``
``batch_output``   batches of OpenAI, Anthropic and Gemini
``every_eval``     Every Eval Ever, ``.json`` and ``.jsonl``
``helm``           HELM, ``scenario_state.json``
``oaieval``        OpenAI Evals, ``.jsonl``
``promptfoo``      promptfoo, ``.json`` and ``.jsonl``
``reading``        which of them a file is
``matching``       which items the samples are about; new ones become items
``study_files``    models and runs of a log in the study file
``importing``      the way in
=================  ==================================================================
"""
