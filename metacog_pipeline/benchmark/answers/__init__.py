"""Is a short answer the right one? One reader for every benchmark that asks for a number, a few words or a choice.

A reply states more than its answer: working, a second unit, the year of a source, the question once more. The reader finds
every candidate, gives each a role (`candidates`, `mentions`), and takes those of the highest rank. Several different ones
of equal rank are ambiguous: that is said, never guessed.

=================  ====================================================================
``text``           thinking, characters and markup prepared
``numbers``        numerals; ``number_words`` words in four languages, ``ordinals`` English ones
``dates``          dates in six languages, in one spelling
``units``          units by name, with what converts them
``candidates``     the numbers of a text with their roles; ``number_answers`` decides
``word_answers``   names and short texts; ``codes`` strings of letters; ``choices`` options
``reading``        the way in: `read_stated`, `AnswerKey`, `Reading`
=================  ====================================================================
"""
