"""Making a completion of what came back, whatever it is; the key is nowhere in it."""

from __future__ import annotations

import dataclasses
import logging

from metacog_pipeline.llm.incoming import Reply, SendFailure
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import NO_CONNECTION, Completion, ErrorKind, Status, failed
from metacog_pipeline.llm.wire import Wire, redacted
from metacog_pipeline.llm.wire.errors import SECRET_LENGTH, STRUCK_OUT

_logger = logging.getLogger(__name__)


class Reader:
    """Reads the replies to the calls of one model."""

    def __init__(self, spec: ModelSpec, key: str | None, wire: Wire) -> None:
        self._spec = spec
        self._key = key
        self._wire = wire
        # Shorter keys are placeholders, and words an answer may hold.
        self._secret = key if key is not None and len(key) >= SECRET_LENGTH else None

    def completion(self, reply: Reply) -> Completion:
        """Return what a whole reply says."""
        body = reply.body
        if self._secret is not None and (secret := self._secret.encode()) in body:
            # Before parsing, so that no field, no text and no shortened message can hold a part of the key.
            body = body.replace(secret, STRUCK_OUT.encode())
        try:
            completion = self._wire.read(self._spec, reply.status, reply.headers, body, self._key)
        except Exception as error:  # an answer nobody foresaw must not end the run
            _logger.warning(
                "model %s: an answer could not be read (%s)", self._spec.name, type(error).__name__
            )
            said = f"the answer could not be read ({type(error).__name__})"
            completion = failed(ErrorKind.TRANSIENT, "unreadable", said, http_status=reply.status)
        if completion.status is Status.FAILED:
            completion = self._with_what_came(completion, reply)
        return dataclasses.replace(completion, raw=body) if self._spec.keep_raw else completion

    def broken(self, failure: SendFailure) -> Completion:
        """Return the completion of an attempt without a whole answer, with what had streamed before it broke."""
        partial = failure.partial
        completion = failed(
            failure.kind,
            None if failure.maybe_billed else NO_CONNECTION,
            redacted(str(failure), self._key),
            http_status=None if partial is None else partial.status,
        )
        return completion if partial is None else self._with_what_came(completion, partial)

    def _with_what_came(self, failed: Completion, reply: Reply) -> Completion:
        """Return ``failed`` with the text and the thinking of a stream that did not end well: kept, never scored."""
        if not (reply.text or reply.reasoning):
            return failed
        return dataclasses.replace(
            failed,
            text=redacted(reply.text, self._secret),
            reasoning_text=redacted(reply.reasoning, self._secret) or failed.reasoning_text,
        )
