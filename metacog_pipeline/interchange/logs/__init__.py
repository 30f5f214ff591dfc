"""Logs of other programs as answers of replayed models.

=================  ==================================================================
``inspect_log``    inspect_ai, ``.eval`` and ``.json``
``lm_eval``        lm-eval, ``samples_*.jsonl``
``lighteval``      lighteval, ``details_*.parquet``
``helm``           HELM, ``scenario_state.json``
``open_compass``   OpenCompass, predictions as ``.json``
``promptfoo``      promptfoo, ``.json`` and ``.jsonl``
``batches``        batches of OpenAI, Anthropic and Gemini
``oaieval``        OpenAI Evals, ``.jsonl``
``every_eval``     Every Eval Ever, ``.json`` and ``.jsonl``
``tables``         a table that brings its questions
``reading``        which of them a file is
``matching``       which items the samples are about; new ones become items
``study_files``    models and runs of a log in the study file
``importing``      from the samples of a log to the answers of a study
``summary``        what was decided, line by line
``exported``       a folder that ``metacog export`` wrote
=================  ==================================================================
"""
