"""Models in this process: a folder in the layout of Hugging Face, no network.

PyTorch and transformers come with the extra ``train`` and are imported when a model is opened, not before.
"""
