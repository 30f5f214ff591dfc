"""Models in this process: a folder in the layout of Hugging Face, no network.

``weights`` says which model a folder holds; ``loading`` opens it; ``rules`` holds each row of a batch to its own sampling
and constraint; ``generation`` answers a batch; ``model`` collects single calls into batches. PyTorch and transformers come
with the extra ``train`` and are imported when a model is opened, not before.
"""
