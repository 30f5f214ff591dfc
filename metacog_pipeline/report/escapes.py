"""The one way that data reach a page: as text of HTML and SVG, or as JSON of a script. Nothing else escapes anything."""

from __future__ import annotations

import json

from markupsafe import Markup, escape

from metacog_pipeline.leaderboard.output import printable


def escaped(value: object) -> Markup:
    """Return a value as text of an element or a quoted attribute; markup of ours stays as it is.

    >>> escaped('<b> & "x"'), escaped(Markup("<b>"))
    (Markup('&lt;b&gt; &amp; &#34;x&#34;'), Markup('<b>'))
    """
    # Characters that cannot be printed are spaces.
    if isinstance(value, Markup):
        return value
    text = str(value)
    # a lone surrogate cannot be written, and is not printable
    if not text.isprintable():
        text = printable(text.encode("utf-8", "replace").decode("utf-8"))
    return escape(text)


def script_data(value: object) -> Markup:
    r"""Return a value as JSON that ends no script element and opens no comment; all but ASCII is escaped.

    >>> script_data({"a": "</script>"})
    Markup('{"a":"\\u003c/script\\u003e"}')
    """
    text = json.dumps(value, allow_nan=False, default=str, separators=(",", ":"))
    # str.translate takes forty times as long
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)
