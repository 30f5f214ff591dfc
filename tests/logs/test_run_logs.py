"""Logs of HELM, OpenAI Evals and promptfoo, made as these write them: what they say, and that the rest is counted."""

import json
from collections import Counter

from tests.logs.conftest import lines, samples


def state(number, *replies, trial=0, **more):
    """Return a request of HELM about a question with two options, of which the second is right."""
    named = {"A": "Lyon", "B": "Paris"}
    references = [
        {"output": {"text": each}, "tags": ["correct"] * (each == "Paris")} for each in named.values()
    ]
    asked = {
        "input": {"text": f"Question {number}: capital of France?"},
        "id": f"id{number}",
        "references": references,
    }
    return {
        "instance": asked, "train_trial_index": trial, "output_mapping": named,
        "result": {"success": True, "completions": [{"text": each} for each in replies]}, **more,
    }  # fmt: skip


def run_of_helm(tmp_path, *states, scores=()):
    folder = tmp_path / "mmlu:subject=geography,method=joint,model=openai_gpt-4o-2024-05-13"
    folder.mkdir()
    path, about = folder / "scenario_state.json", {"model": "openai/gpt-4o-2024-05-13"}
    path.write_text(json.dumps({"adapter_spec": about, "request_states": states}))
    (folder / "per_instance_stats.json").write_text(json.dumps(scores))
    return path


def test_trials_and_several_replies_of_helm_are_runs_and_what_is_no_reply_is_counted(tmp_path):
    found = samples(run_of_helm(
        tmp_path, state(1, "A", "B"), state(1, "B", "B", trial=1),
        state(2, "x", reference_index=0), state(3, "x", result={"success": False, "error": "Too many requests"}),
        {**(changed := state(4, "B")), "instance": {**changed["instance"], "perturbation": {"name": "typos"}}},
        state(5, "B", result={"success": True, "completions": 7}), {"instance": 3, "result": []}, "no object",
    ))  # fmt: skip
    assert {(each.task, each.model) for each in found} == {
        ("mmlu:subject=geography,method=joint", "openai/gpt-4o-2024-05-13")
    }
    assert (found[0].question["options"], found[0].question["answer"]) == (["Lyon", "Paris"], "B")
    assert [(each.run, each.said.text) for each in found[:4]] == [(1, "A"), (2, "B"), (3, "B"), (4, "B")]
    assert [each.why for each in found[4:]] == [
        "is the likelihood of one option, no reply", "was not answered: Too many requests",
        "asks a question that HELM had changed (a perturbation)", "was not answered: no completion",
        "was not answered: no completion",
    ]  # fmt: skip


def event(kind, number, **data):
    return {"sample_id": f"capitals.s1.{number}", "type": kind, "data": data}


def test_a_log_of_openai_evals_is_scored_as_its_matches_say(tmp_path, take):
    chat = [{"role": "system", "content": "One word."}, {"role": "user", "content": "Capital of Italy?"}]
    path = lines(
        tmp_path / "230417.jsonl", {"spec": {"completion_fns": ["gpt"], "eval_name": "capitals.s1"}}, {"final_report": {}},
        event("sampling", 1, prompt=chat, sampled=["Rome"]), event("match", 1, correct=True, expected="Rome"),
        event("sampling", 3, prompt="Why?", sampled="Because."),
        event("sampling", 3, prompt="Is it good?", sampled=["Y"]),
        event("metrics", 3, choice="Y", score=1.0),
        event("sampling", 4, prompt="Twice?", sampled=["a", "b"]), event("match", 4, correct=True, expected="a"),
        event("error", 5, type="RateLimitError", message="slow down"),
    )  # fmt: skip
    found = samples(path)
    assert [(each.name[-1], each.said.text, each.right, each.run) for each in found] == [
        ("1", "Rome", True, 1), ("3", "Because.", True, 1), ("4", "a", None, 1), ("4", "b", None, 2), ("5", "", None, 1),
    ]  # fmt: skip
    asked = (found[0].task, found[0].model, found[0].question["question"])
    assert asked == ("capitals.s1", "gpt", "Capital of Italy?")
    done = take(path)
    assert done.kept == 4
    assert Counter(why for _, _, why in done.rejected) == {
        "has no short right answer, and the log no verdict": 2, "was not answered: slow down": 1,
    }  # fmt: skip


def result(test, output, *, passed, provider="openai:gpt-4o", value="Paris", **more):
    asked = [{"role": "user", "content": f"Question {test}: capital of France?"}]
    return {
        "promptIdx": 0, "testIdx": test, "provider": {"id": provider, "label": ""}, "vars": {"n": test},
        "prompt": {"raw": json.dumps(asked), "label": "Question {{n}}"}, "success": passed, "score": float(passed),
        "response": {"output": output, "tokenUsage": {"total": 12, "prompt": 9, "completion": 3}},
        "testCase": {"assert": [{"type": "icontains", "value": value}]}, **more,
    }  # fmt: skip


RESULTS = [
    result(0, "Paris.", passed=True), result(0, "Lyon", passed=False, provider="anthropic:haiku"),
    result(1, {"city": "Paris"}, passed=True), result(1, None, passed=False, error="API error: 429", response={}),
    result(0, "Lyon", passed=False), result(2, "hm", passed=True, testCase={"assert": []}),
]  # fmt: skip


def test_results_of_promptfoo_are_right_where_their_assertions_passed(tmp_path, take):
    path = tmp_path / "out.json"
    path.write_text(json.dumps({"results": {"results": RESULTS}}))
    found = samples(path)
    assert [(each.model, each.said.text, each.right, each.run) for each in found] == [
        ("openai:gpt-4o", "Paris.", True, 1), ("anthropic:haiku", "Lyon", False, 1),
        ("openai:gpt-4o", '{"city":"Paris"}', True, 1), ("openai:gpt-4o", "", None, 2),
        ("openai:gpt-4o", "Lyon", False, 2), ("openai:gpt-4o", "hm", None, 1),
    ]  # fmt: skip
    assert found[3].why == "was not answered: API error: 429"
    assert (found[0].task, found[0].question["question"]) == ("out", "Question 0: capital of France?")
    assert found[0].said.usage.input_tokens == 9
    done = take(path)
    assert done.kept == 5
    assert sorted(model.name for model in done.study.models) == ["anthropic-haiku", "openai-gpt-4o"]


def test_models_whose_prompts_differ_answer_the_same_question_of_promptfoo(tmp_path, take):
    rows = []
    for place, (provider, prompt) in enumerate((("a", "[INST] {} [/INST]"), ("b", "Q: {}\nA:"))):
        for test in range(3):
            asked = f"Capital of country {test}?"
            shown = {"vars": {"q": asked}, "prompt": {"raw": prompt.format(asked)}}
            rows.append(
                {**result(test, "Paris", passed=True, provider=provider), "promptIdx": place, **shown}
            )
    path = lines(tmp_path / "out.jsonl", *rows)
    asked = {each.question["question"] for each in samples(path)}
    assert asked == {f"Capital of country {n}?" for n in range(3)}
    done = take(path)
    assert (done.kept, done.study.study.runs, len(done.study.models)) == (6, 1, 2)
    both = {"vars": {"input": "Hello", "language": "French"}, "prompt": {"raw": "To French: Hello"}}
    (only,) = samples(lines(tmp_path / "two.jsonl", {**rows[0], **both}))
    assert only.question["question"] == "To French: Hello"
    # prompts of one model are compared: each asks something of its own
    both = lines(tmp_path / "both.jsonl", *({**row, "provider": "c"} for row in rows))
    assert len({each.question["question"] for each in samples(both)}) == 6


def test_free_answers_of_helm_are_right_as_its_scores_say(tmp_path, take):
    free = [state(n, text, output_mapping=None) for n, text in enumerate(("Paris", "It is Lyon"), start=1)]
    long = state(3, "a proof", output_mapping=None)
    long["instance"]["references"] = [{"output": {"text": "Q.E.D. " * 40}, "tags": ["correct"]}]
    score = {"instance_id": "id3", "train_trial_index": 0, "stats": [
        {"name": {"name": "exact_match", "perturbation": {"name": "typos"}}, "mean": 0.0},
        {"name": {"name": "exact_match", "split": "test"}, "mean": 1.0},
    ]}  # fmt: skip
    path = run_of_helm(tmp_path, *free, long, scores=[score, {"instance_id": 3, "stats": 4}, 5])
    assert [each.right for each in samples(path)] == [None, None, True]
    done = take(path)
    assert (done.kept, done.rejected) == (3, ())
