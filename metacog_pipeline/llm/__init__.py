"""One call to a model: ``ChatModel.complete(request) -> Completion``, whoever answers.

Holds the clients (HTTP, local folder, replay, simulated), the wire formats, retries, rates, the limiter, the budget and
its ledger, and a local server for tests. It never knows a benchmark, never parses an answer, never keeps one.
Start with ``types``, then ``client``; ``docs/design/asking.md`` says why it is built so.
"""
