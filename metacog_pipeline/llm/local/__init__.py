"""Models in this process: a folder in the layout of Hugging Face, no network; PyTorch is loaded with a model."""
