"""The published question sets: where each is, what it must be, how it is read.

===================  ======================================================================================  =======
``trivia_qa``        TriviaQA ``rc``, validation (Joshi et al. 2017): the questions without their evidence    17,944
``trivia_qa_train``  the same, train                                                                         138,384
``freebase_qa``      FreebaseQA, evaluation (Jiang, Wu and Jiang 2019)                                         3,996
``nq_open``          NQ-Open, development (Lee, Chang and Toutanova 2019)                                      3,610
``web_questions``    WebQuestions, test (Berant et al. 2013)                                                   2,032
``mkqa``             MKQA (Longpre, Lu and Daiber 2021)                                                       10,000
``fictional_qa``     FictionalQA (Kirchenbauer et al. 2025), questions that repeat another left out            1,797
``efficientqa``      EfficientQA, development 1.1 (Min et al. 2021)                                            1,800
``trivia_sample``    a sample of the validation part of TriviaQA, unfiltered                                   1,000
``popqa``            a sample of PopQA (Mallen et al. 2023)                                                    1,000
``selfaware``        SelfAware (Yin et al. 2023)                                                               3,369
===================  ======================================================================================  =======
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from metacog_pipeline.benchmarks.selfknowledge.construction import loaders
from metacog_pipeline.benchmarks.selfknowledge.construction.loaders import Loaded

_HUB = "https://huggingface.co/datasets"
_HUB_HOSTS = ("huggingface.co", "hf.co")
_RAW = "https://raw.githubusercontent.com"


@dataclass(frozen=True, slots=True)
class Source:
    """A published file of questions, which ``load`` reads.

    ``url`` holds ``revision``, the commit it is taken from, and may lead on to the hosts ``redirects``. ``rows``: how
    many questions it has, None: not checked. ``names`` are looked for in a folder, each also with ``.gz``.
    ``digests`` are {layout: SHA-256 of the questions}; a layout that is not named is pinned by the first file
    fetched.
    """

    name: str
    url: str
    revision: str
    load: Callable[[Path], Loaded]
    rows: int | None
    names: tuple[str, ...]
    digests: Mapping[str, str] = field(default_factory=dict)
    redirects: tuple[str, ...] = ()


_TRIVIA = "0f7faf33a3908546c6fd5b73a660e0f8ff173c2f"
_FICTIONAL = "adad911d2518d62c4434ac590cc48d202f2aad83"
_FREEBASE = "1773919d816f87bafc586ecf022a4f9b1f9f6690"
_MKQA = "651b8cc85c407270b024157aff06ee6ab8c4fc6d"
_NQ = "fb26a3073b1fe636c97302890a27b491d6530130"
_BRMSON = "668890853388010fe6ae9a5eb035a7917b88933b"
_SAMPLES = "45495b576c768f0d5996789e2db29eaa285a3c54"
_SELFAWARE = "f0bad1ff77bd42fc4eb2360281ed646c7bb7bd0c"


def _on_hub(name: str, place: str, load: Callable[[Path], Loaded], rows: int, names: str) -> Source:
    """Return a source of the hub; ``place`` is repository, revision and file, ``names`` those looked for in a folder."""
    repo, revision, file = place.split(" ")
    url = f"{_HUB}/{repo}/resolve/{revision}/{file}"
    return Source(name, url, revision, load, rows, tuple(names.split()), redirects=_HUB_HOSTS)


def _on_github(
    name: str, place: str, load: Callable[[Path], Loaded], rows: int, names: str, **digests: str
) -> Source:
    """Return a source of a repository; as `_on_hub`, with the digests that are known."""
    repo, revision, file = place.split(" ")
    return Source(
        name, f"{_RAW}/{repo}/{revision}/{file}", revision, load, rows, tuple(names.split()), digests
    )


_SOURCES = (
    _on_hub("trivia_qa", f"mandarjoshi/trivia_qa {_TRIVIA} rc.nocontext/validation-00000-of-00001.parquet",
            loaders.trivia_qa, 17_944, "trivia_qa.parquet trivia_qa.jsonl trivia_qa.json "
            "validation-00000-of-00001.parquet trivia_qa_validation.jsonl"),
    _on_hub("trivia_qa_train", f"mandarjoshi/trivia_qa {_TRIVIA} rc.nocontext/train-00000-of-00001.parquet",
            loaders.trivia_qa, 138_384,
            "trivia_qa_train.parquet trivia_qa_train.jsonl trivia_qa_train.json train-00000-of-00001.parquet"),
    _on_github("freebase_qa", f"kelvin-jiang/FreebaseQA {_FREEBASE} FreebaseQA-eval.json",
               loaders.freebase_qa, 3_996, "FreebaseQA-eval.json freebase_qa.json freebase_qa.jsonl"),
    _on_github("nq_open", f"google-research-datasets/natural-questions {_NQ} nq_open/NQ-open.dev.jsonl",
               loaders.nq_open, 3_610, "NQ-open.dev.jsonl nq_open_dev.jsonl nq_open.jsonl nq_open.parquet",
               nq_open="6cce8b8ebbed6bb77717444b93bc316640830e8566e2ccabe59c7138790e9b8f"),
    _on_github("web_questions", f"brmson/dataset-factoid-webquestions {_BRMSON} main/test.json",
               loaders.web_questions, 2_032, "webquestions_test.jsonl web_questions.jsonl web_questions.json "
               "web_questions.parquet test.json test-00000-of-00001.parquet",
               brmson="377afab8a85fe3f7b179269651a55454a4d66812bf8f98960dbab5071757c107"),
    _on_github("mkqa", f"apple/ml-mkqa {_MKQA} dataset/mkqa.jsonl.gz",
               loaders.mkqa, 10_000, "mkqa.jsonl mkqa.parquet test_mkqa.jsonl mkqa_fixture_6.jsonl"),
    _on_hub("fictional_qa", f"tomg-group-umd/fictionalqa {_FICTIONAL} fict_qa/train-00000-of-00001.parquet",
            loaders.fictional_qa, 1_797, "fictional_qa.parquet fictional_qa.jsonl fict_qa.parquet fict_qa.jsonl "
            "train-00000-of-00001.parquet"),
    _on_github("efficientqa", f"google-research-datasets/natural-questions {_NQ} "
               "nq_open/NQ-open.efficientqa.dev.1.1.jsonl", loaders.nq_open, 1_800,
               "NQ-open.efficientqa.dev.1.1.jsonl nq_efficientqa_dev_1.1.jsonl efficientqa.jsonl",
               nq_open="fa60fbc6a87b75e3feb1e3ac436426a836ee06866aed8689c0728298f2416ea0"),
    _on_github("trivia_sample", f"GaurisankarJ/reason_over_search {_SAMPLES} data_subsample/triviaqa/test.jsonl",
               loaders.golden_answers, 1_000, "triviaqa_unfiltered_validation_1000.jsonl trivia_sample.jsonl",
               golden_answers="6de6a3f8713afcf84067e3b4bed11fe4909a7d43dc03d26f702f623e4ee18efa"),
    _on_github("popqa", f"GaurisankarJ/reason_over_search {_SAMPLES} data_subsample/popqa/test.jsonl",
               loaders.golden_answers, 1_000, "popqa_test_1000.jsonl popqa.jsonl",
               golden_answers="62a24940ca7612eb5a58e2fc5d1daf6659d1724b4952c718e1af713a17645bba"),
    _on_github("selfaware", f"yinzhangyue/SelfAware {_SELFAWARE} data/SelfAware.json",
               loaders.selfaware, 3_369, "SelfAware.json selfaware.jsonl selfaware.json",
               selfaware="66f782d34252a91d2761b546c618941f9c8a9e903f5413577e6da8535d950915"),
)  # fmt: skip
SOURCES: Mapping[str, Source] = {source.name: source for source in _SOURCES}
