"""Any causal language model in a local folder (the layout of Hugging Face): asked, evolved, tuned, patched, evaluated.

Prompts, readings and rules of matching are those of the self-knowledge benchmark, models are opened as by
``provider = "transformers"``; a checkpoint is again such a folder and can be measured like any model.
"""
