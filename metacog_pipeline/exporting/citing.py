"""BibTeX of what stands behind the boards of a study: the papers, the data sets it reads, and this software."""

from __future__ import annotations

import re

from metacog_pipeline import __version__
from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.benchmark.display import Paper
from metacog_pipeline.exporting.facts import sources
from metacog_pipeline.study import Study

_ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")
_DOI = re.compile(r"https?://doi\.org/(\S+)")
_JOURNAL = re.compile(r"(\D+) (\d+):([\w–-]+)")  # name, volume, first page or number of the article
_SPECIAL = str.maketrans(
    {each: f"\\{each}" for each in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}"}
)


def bibtex(study: Study) -> str:
    """Return one entry per paper, per data set that is read, and for the software; the same study gives the same text."""
    entries: dict[str, str] = {}
    for benchmark in enabled(study):
        paper = benchmark.paper
        if paper.url:
            entries[_key(paper.authors, paper.year, benchmark.name)] = _paper(paper, benchmark.title)
        for source in sources(benchmark):
            found = [
                ("title", f"{source.name} (data set)"),
                ("howpublished", f"\\url{{{source.urls[0]}}}" if source.urls else ""),
                ("note", f"Read for {_plain(benchmark.title)}; licence: {_plain(source.licence)}"),
            ]
            entries[f"data-{_slug(source.name)}"] = _entry("misc", found)
    entries["metacog-pipeline"] = _entry(
        "software", [("title", "metacog_pipeline: what language models know about what they know"),
                     ("author", "{The metacog\\_pipeline developers}"), ("version", __version__),
                     ("license", "Apache-2.0")],
    )  # fmt: skip
    return "\n".join(text.replace("{KEY}", key, 1) for key, text in entries.items())


def _paper(paper: Paper, title: str) -> str:
    arxiv, doi = _ARXIV.search(f"{paper.where} {paper.url}"), _DOI.match(paper.url)
    authors = " and ".join(_plain(each.strip()) for each in paper.authors.split(","))
    fields = [("title", f"{{{_plain(paper.title)}}}"), ("author", authors), ("year", str(paper.year))]
    printed = _JOURNAL.fullmatch(paper.where)
    if arxiv:
        fields += [("eprint", arxiv[1]), ("archiveprefix", "arXiv")]
    elif printed:
        fields += zip(("journal", "volume", "pages"), map(_plain, printed.groups()), strict=True)
    else:
        fields.append(("journal" if doi else "howpublished", _plain(paper.where)))
    fields += [("doi", doi[1])] if doi else []
    fields += [("url", paper.url), ("note", _plain(title))]
    return _entry("article" if doi else "misc", fields)


def _entry(kind: str, fields: list[tuple[str, str]]) -> str:
    lines = [f"  {name} = {{{value}}}," for name, value in fields if value]
    return "\n".join([f"@{kind}{{{{KEY}},", *lines, "}\n"])


def _key(authors: str, year: int, name: str) -> str:
    first = authors.split(",")[0].split()
    return f"{_slug(first[-1] if first else name)}{year}{_slug(name)}"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-") or "unnamed"


def _plain(text: str) -> str:
    return text.translate(_SPECIAL)
