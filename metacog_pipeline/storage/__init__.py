"""Where the files of a study can be shared between hosts: a folder many hosts see, or an object store.

It knows bytes and names only: what a partition keeps there says ``transcripts.shared``, what is made of it `derived`.
"""
