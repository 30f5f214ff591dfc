"""Keys, credentials in addresses and paths of this machine's user are taken out of every text that leaves."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import polars as pl

from metacog_pipeline.study import Study

REMOVED, PLACE = "[removed]", "[path]"
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|DSN", re.IGNORECASE)
_SHORTEST = 8  # characters of a value that is taken for a secret: shorter ones are words
#: Texts of our own or of a provider, where a key can only be a key; replies and prompts are searched for known ones only.
_MESSAGES = (
    "error_message",
    "error_code",
    "model_id",
    "model_reported",
    "message",
    "reason",
    "finish_detail",
)
_PATTERNS = (
    (r"(?i)\b([a-z][a-z0-9+.-]*://)[^/\s:@\"']+(?::[^/\s@\"']*)?@", r"\1"),
    (
        r"\b(?:sk|gsk|hf|r8|xai|pk)[-_][A-Za-z0-9_-]{8,}|AIza[\w-]{10,}|(?i:bearer)\s+[\w.~+/=-]{8,}",
        REMOVED,
    ),
    (r"(?:/(?:home|Users|root)|[A-Za-z]:\\Users)[/\\][^\s\"',;:)]*", PLACE),
)


class Cleaner:
    """Takes out of texts what belongs to the machine and the users of one study."""

    def __init__(self, study: Study) -> None:
        named = (
            value.strip()
            for name, value in os.environ.items()
            if name in study.variables or _SECRET_NAME.search(name)
        )
        known = {value: REMOVED for value in named if len(value) >= _SHORTEST}
        places = map(str, (study.home, study.path.parent, Path.home(), Path.cwd()))
        known |= {each: PLACE for each in places if each.count("/") > 1}
        # the longest first: a folder in another is within the longer path
        self._known = dict(sorted(known.items(), key=lambda pair: -len(pair[0])))

    def text(self, text: str, *, message: bool = True) -> str:
        """Return a text without what must not leave; a ``message`` is no prompt and no reply."""
        for found, instead in self._known.items():
            text = text.replace(found, instead)
        for pattern, instead in _PATTERNS if message else _PATTERNS[:1]:
            text = re.sub(pattern, instead, text)
        return text

    def frame(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a table without what must not leave."""
        for name, kind in frame.schema.items():
            if kind == pl.String:
                old = frame[name].drop_nulls().unique().to_list()
                clean = [self.text(each, message=name in _MESSAGES) for each in old]
                changed = {each: other for each, other in zip(old, clean, strict=True) if each != other}
                frame = frame.with_columns(pl.col(name).replace(changed)) if changed else frame
        return frame

    def value(self, value: Any) -> Any:
        """Return what JSON or TOML holds, each of its texts without what must not leave."""
        if isinstance(value, dict):
            return {self.text(str(key), message=False): self.value(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(each) for each in value]
        return self.text(value) if isinstance(value, str) else value
