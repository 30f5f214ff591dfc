"""One call to a model, whoever answers: start with ``types``, then ``client``; ``docs/design/asking.md`` says why."""
