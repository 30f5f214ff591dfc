"""Published files of questions → rows, in the order of the file. One module for each layout; all read any packing of it.

==================  =====================================================================================
``trivia_qa``       ``question_id``, ``question``, ``answer.aliases``; also as the authors pack it (``Data``)
``freebase_qa``     ``Questions`` with ``RawQuestion`` and ``Parses``
``nq_open``         ``question``, ``answer``; also EfficientQA
``web_questions``   ``url``, ``question``, ``answers``; or ``qId``, ``qText``, ``answers``
``mkqa``            ``query``, ``queries`` and ``answers`` by language
``fictional_qa``    ``question_id``, ``event_id``, ``natural_answer``, ``duplicate_relationship``
``golden_answers``  ``id``, ``question``, ``golden_answers``: samples of TriviaQA and PopQA
``selfaware``       ``question``, ``answer`` or null, ``answerable``
==================  =====================================================================================

Each has ``load(path) -> Loaded`` and raises SourceError with file and row for anything that is not as it must be. A
question without any answer is kept: it can be asked, and nothing is right.
"""
