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
_MESSAGES = {
    "error_message",
    "error_code",
    "model_id",
    "model_reported",
    "message",
    "reason",
    "finish_detail",
}
_CREDENTIALS = r"(?i)\b([a-z][a-z0-9+.-]*://)[^/\s:@\"']+(?::[^/\s@\"']*)?@"
_KEYS = r"\b(?:sk|gsk|hf|r8|xai|pk)[-_][A-Za-z0-9_-]{8,}|AIza[\w-]{10,}|(?i:bearer)\s+[\w.~+/=-]{8,}"
_FOLDERS = r"(?:/(?:home|Users|root)|[A-Za-z]:\\Users)[/\\][^\s\"',;:)]*"


class Cleaner:
    """Takes out of texts what belongs to the machine and the users of one study."""

    def __init__(self, study: Study) -> None:
        named = (
            value.strip()
            for name, value in os.environ.items()
            if name in study.variables or _SECRET_NAME.search(name)
        )
        secrets = {value: REMOVED for value in named if len(value) >= _SHORTEST}
        places = map(str, (study.home, study.path.parent, Path.home(), Path.cwd()))
        self._known = secrets | {each: PLACE for each in places if each.count("/") > 1}
        self._order = sorted(self._known, key=len, reverse=True)

    def text(self, text: str, *, message: bool = True) -> str:
        """Return a text without what must not leave; a ``message`` is no prompt and no reply."""
        for each in self._order:
            text = text.replace(each, self._known[each])
        text = re.sub(_CREDENTIALS, r"\1", text)
        return re.sub(_FOLDERS, PLACE, re.sub(_KEYS, REMOVED, text)) if message else text

    def frame(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a table without what must not leave."""
        texts = (name for name, kind in frame.schema.items() if kind == pl.String)
        return frame.with_columns(self._column(name) for name in texts)

    def value(self, value: Any) -> Any:
        """Return what JSON or TOML holds, each of its texts without what must not leave."""
        if isinstance(value, dict):
            return {self.text(str(key), message=False): self.value(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(each) for each in value]
        return self.text(value) if isinstance(value, str) else value

    def _column(self, name: str) -> pl.Expr:
        found = pl.col(name).str.replace_all(_CREDENTIALS, "${1}")
        if self._order:
            clean = [self._known[each] for each in self._order]
            found = found.str.replace_many(self._order, clean, leftmost=True)
        if name in _MESSAGES:
            found = found.str.replace_all(_KEYS, REMOVED).str.replace_all(_FOLDERS, PLACE)
        return found
