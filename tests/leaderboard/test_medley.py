"""MEDLEY-BENCH in the warehouse: beside the published models, by variant, and out of sight where it is not asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.benchmarks.medley.comparisons import compare_scored
from metacog_pipeline.benchmarks.medley.construction.gates import evaluate, with_judges
from metacog_pipeline.benchmarks.medley.construction.tables import KEPT_GATES, gate_frame
from metacog_pipeline.benchmarks.medley.instance_scores import INSTANCE_SCHEMA
from metacog_pipeline.benchmarks.medley.items import DOMAINS
from metacog_pipeline.benchmarks.medley.parsing import JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.published import audit_published
from metacog_pipeline.benchmarks.medley.scoring import estimates
from metacog_pipeline.leaderboard import build, run_query
from metacog_pipeline.leaderboard.printing import render_board
from metacog_pipeline.leaderboard.read import board, read_table
from metacog_pipeline.leaderboard.schemas import STUDY_MODELS, STUDY_PARTITIONS
from metacog_pipeline.leaderboard.status import write_status
from metacog_pipeline.study import load_study

MakeMedley = Callable[..., Path]
CONDITIONS = ("normal", "adversarial", "stripped")


def scored(model: str, run: int, condition: str, variant: str, dataset: str, source: str) -> pl.DataFrame:
    rng = np.random.default_rng([run, len(model), len(condition)])
    abilities = ("monitoring", "control", "evaluation", "self_regulation")
    rows = []
    for i in range(10):
        tiers = rng.uniform(0.3, 0.8, 3)
        row = {
            "benchmark": "medley",
            "dataset": dataset,
            "variant": variant,
            "condition": condition,
            "model": model,
            "run": run,
            "instance_id": f"I{i}",
            "domain": DOMAINS[i % 5],
            "position": i,
            "is_known_answer": i == 0,
            "is_error_detection": False,
            "status": "ok" if i else "answer_unparsed",
            "source": source,
            "answered": i > 0,
        }
        if i:
            row |= {"mms": float(tiers.mean()), "mas": 0.6, "dominant": "control", "n_judged": 10}
            row |= dict(
                zip(
                    ("reflective_updating", "social_robustness", "epistemic_articulation"),
                    map(float, tiers),
                    strict=True,
                )
            )
            row |= dict.fromkeys(abilities, 0.6) | {f"ipsative_{name}": 0.01 * i for name in abilities}
            row |= {f"judged_{name}": float(rng.random()) for name in JUDGE_DIMENSIONS}
            row |= {"epistemic_cowardice": 0.2, "self_revision_rate": 0.1, "change_rate": 0.4}
            row |= {"judge_share_missing": 0.0}
            row |= {"changed_from_normal": 0.5} if condition == "adversarial" else {}
        rows.append(row)
    return pl.DataFrame(rows, schema=INSTANCE_SCHEMA)


@pytest.fixture
def make_medley(tmp_path: Path) -> MakeMedley:
    """Return ``make_medley(models={name: source}, …)``, which writes a home, builds its board and returns its path."""

    def make(
        models: Mapping[str, str] | None = None,
        *,
        asked: Sequence[str] = ("medley",),
        dataset: str = "published",
        variant: str = "reference",
        conditions: Sequence[str] = CONDITIONS,
        runs: int = 2,
        audited: bool = True,
    ) -> Path:
        home = tmp_path / "home"
        sources = dict(models if models is not None else {"alpha": "measured", "beta": "measured"})
        folder = home / "estimates" / "medley"
        (folder / "models").mkdir(parents=True)
        (folder / "comparisons").mkdir()
        whole = []
        for model, source in sources.items():
            own = []
            for run in range(1, runs + 1):
                rows = pl.concat([scored(model, run, each, variant, dataset, source) for each in conditions])
                for kind, table in (
                    ("instances", rows),
                    ("runs", estimates(rows, by_run=True, seed=1, n_boot=20)),
                ):
                    path = folder / kind / f"model={model}" / f"run={run}.parquet"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    table.write_parquet(path)
                own.append(rows)
            pooled = estimates(pl.concat(own), by_run=False, seed=1, n_boot=20)
            pooled.write_parquet(folder / "models" / f"{model}.parquet")
            whole += own
        if whole:
            found = compare_scored(pl.concat(whole), seed=1, n_boot=20)
            found.write_parquet(folder / "comparisons" / "comparisons.parquet")
        if audited:
            audit_published(home)
        (home / "study").mkdir()
        listed = [
            {"model": name, "provider": "openai", "source": source, "listed": True, "runs": runs}
            for name, source in sources.items()
        ]
        states = [
            {
                "benchmark": benchmark,
                "model": name,
                "run": 1,
                "state": "complete",
                "n_expected": 1,
                "n_answered": 1,
                "n_failed": 0,
            }
            for benchmark in asked
            for name in sources
        ]
        for name, table, schema in (
            ("models", listed, STUDY_MODELS),
            ("partitions", states, STUDY_PARTITIONS),
        ):
            full = [{key: row.get(key) for key in schema.names} for row in table]
            pq.write_table(pa.Table.from_pylist(full, schema=schema), home / "study" / f"{name}.parquet")
        build(home)
        return home

    return make


def rows(home: Path, sql: str) -> list[tuple[object, ...]]:
    return list(read_table(home, sql).rows)


def test_every_medley_table_has_rows(make_medley: MakeMedley) -> None:
    home = make_medley()
    for name in (
        "medley_estimates",
        "medley_instances",
        "medley_comparisons",
        "medley_cognitive_map",
        "medley_ipsative",
        "published_medley",
        "published_checks_medley",
    ):
        assert rows(home, f"select count(*) from {name}")[0][0], name


def test_the_thirty_five_published_models_stand_beside_new_ones(make_medley: MakeMedley) -> None:
    home = make_medley()
    found = rows(
        home,
        "select source, condition, count(distinct model) from board where measure = 'mms' group by all order by all",
    )
    assert ("published", "normal reference", 35) in found and ("measured", "normal reference", 2) in found
    assert ("published", "adversarial reference", 11) in found
    printed = rows(home, "select estimate from board where model = 'GPT-4.1' and measure = 'mas'")
    assert printed == [(pytest.approx(0.739),)]


def test_the_variant_is_named_and_published_scores_follow_it(make_medley: MakeMedley) -> None:
    home = make_medley(variant="paper")
    conditions = {row[0] for row in rows(home, "select distinct condition from board")}
    assert conditions == {f"{name} paper" for name in CONDITIONS}


@pytest.mark.parametrize("told", [{"dataset": "sample"}, {"models": {"bot": "simulated"}}])
def test_published_models_stand_aside_from_other_questions_and_observers(
    make_medley: MakeMedley, told: dict[str, object]
) -> None:
    home = make_medley(**told)
    assert not rows(home, "select 1 from board where source = 'published'")
    assert rows(home, "select 1 from board")


def test_a_study_that_does_not_ask_it_shows_nothing_of_it(make_medley: MakeMedley) -> None:
    home = make_medley(asked=("metamedqa",))
    assert {row[0] for row in rows(home, "select distinct benchmark from board")} <= {"metamedqa"}
    for name in ("medley_estimates", "medley_instances", "medley_comparisons", "medley_cognitive_map"):
        assert not rows(home, f"select 1 from {name}"), name
    assert not rows(home, "select 1 from int_question_sets where benchmark = 'medley'")


def test_a_home_without_any_answer_builds(make_medley: MakeMedley) -> None:
    home = make_medley(models={}, audited=False)
    assert not rows(home, "select 1 from medley_estimates")


def test_a_listed_model_without_answers_is_named(make_medley: MakeMedley) -> None:
    home = make_medley(conditions=("normal",))
    (home / "estimates" / "medley" / "models" / "beta.parquet").unlink()
    build(home)
    found = rows(home, "select measure, estimate from board where model = 'beta'")
    assert found == [("coverage", 0.0)]


def test_instances_are_averaged_over_runs_and_unread_ones_have_no_number(make_medley: MakeMedley) -> None:
    home = make_medley()
    unread = rows(home, "select distinct runs_scored, mms from medley_instances where instance_id = 'I0'")
    assert unread == [(0, None)]
    kept = scored("alpha", 1, "normal", "reference", "published", "measured")["mms"][3]
    other = scored("alpha", 2, "normal", "reference", "published", "measured")["mms"][3]
    found = rows(
        home,
        "select mms, runs_scored from medley_instances "
        "where model = 'alpha' and condition = 'normal' and instance_id = 'I3'",
    )
    assert found == [(pytest.approx((kept + other) / 2), 2)]


def test_instances_on_which_models_differ_most_can_be_told(make_medley: MakeMedley) -> None:
    home = make_medley()
    over_models = "var_pop(mms) over (partition by instance_id)"
    spread = rows(
        home,
        f"select max(abs(variance_of_models - v)) from (select variance_of_models, {over_models} as v "
        "from medley_instances where condition = 'normal')",
    )
    assert spread == [(pytest.approx(0.0),)]


def test_the_map_has_measured_and_printed_models(make_medley: MakeMedley) -> None:
    home = make_medley()
    found = rows(
        home, "select source, count(*), count(profile), count(character) from medley_cognitive_map group by 1"
    )
    assert sorted(found) == [("measured", 2, 2, 2), ("published", 11, 11, 0)]
    labels = dict(rows(home, "select model, character from medley_cognitive_map where source = 'measured'"))
    assert set(labels.values()) == {"crowd-follower"}


def test_printed_profiles_are_those_of_the_ten_dimensions(make_medley: MakeMedley) -> None:
    home = make_medley()
    found = rows(
        home,
        "select place, count(*), count(dominant) from medley_ipsative where source = 'published' group by all order by all",
    )
    assert found == [("table 1", 20, 0), ("table S10", 15, 15)]
    other = rows(home, "select monitoring from medley_ipsative where model = 'Gemma-2 (9B)'")
    assert other == [(pytest.approx(0.1017, abs=1e-4),)]


def test_the_audit_says_what_does_not_follow(make_medley: MakeMedley) -> None:
    home = make_medley()
    found = dict(
        rows(
            home,
            "select verdict, count(*) from published_checks_medley where quantity = 'adversarial_delta' group by 1",
        )
    )
    assert found == {"differs": 9, "follows": 2}


def test_the_board_for_people_has_the_scores_and_says_what_is_unjudged(make_medley: MakeMedley) -> None:
    text = render_board(board(make_medley()), "table", width=160)
    assert "medley · normal reference · models" in text
    for word in ("MMS", "T1", "T2", "T3", "MAS", "unjudged", "Claude Haiku 4.5"):
        assert word in text


def test_runs_stand_by_themselves(make_medley: MakeMedley) -> None:
    home = make_medley()
    found = run_query(home, "select distinct run from board_runs where benchmark = 'medley' order by 1").rows
    assert found == ((1,), (2,))


def test_the_printed_agreements_and_counts_are_tables_too(make_medley: MakeMedley) -> None:
    home = make_medley()
    found = rows(
        home, "select family, count(*), min(value) from published_comparisons_medley group by 1 order by 1"
    )
    assert found == [
        ("aggregation", 6, 0.977),
        ("cross_domain", 10, 0.72),
        ("leave_one_domain_out", 5, 0.977),
    ]
    assert rows(home, "select agree + disagree = claims from published_verification_medley group by 1") == [
        (True,)
    ]


def test_the_gates_of_the_asked_set_are_a_table(make_medley: MakeMedley) -> None:
    home = make_medley()
    assert rows(home, "select count(*) from medley_gates") == [(0,)]
    gates = with_judges(evaluate([]), 0.5, None, "one judge only")
    for dataset in ("published", "custom"):
        frame = gate_frame(gates).with_row_index("place", 1)
        frame = frame.with_columns(benchmark=pl.lit("medley"), dataset=pl.lit(dataset))
        path = home / "estimates" / "medley" / "gates" / f"{dataset}.parquet"
        path.parent.mkdir(exist_ok=True)
        frame.select(pl.col(name).cast(kind) for name, kind in KEPT_GATES.items()).write_parquet(path)
    build(home)
    assert rows(home, "select distinct dataset from medley_gates") == [("published",)]
    assert rows(home, "select found from medley_gates where name = 'G15'") == [("one judge only",)]
    assert rows(home, "select name from medley_gates limit 3") == [("G1",), ("G2",), ("G3",)]


@pytest.mark.parametrize("variant", ["reference", "paper"])
def test_a_model_that_said_nothing_is_listed_under_the_variant_of_its_study(
    variant: str, tmp_path: Path
) -> None:
    lines = ['[study]\nname = "s"\nhome = "home"\n[[models]]\nname = "a"\nprovider = "openai"\nmodel = "a"']
    lines += ["[benchmarks.metamedqa]\nenabled = false\n[benchmarks.medley]\nenabled = true"]
    (tmp_path / "s.toml").write_text("\n".join([*lines, f'variant = "{variant}"\n']))
    study = load_study(tmp_path / "s.toml")
    study.home.prepare()
    write_status(study)
    build(study.home.path)
    found = rows(study.home.path, "select distinct condition from int_unanswered_models")
    assert found == [(f"normal {variant}",)]
