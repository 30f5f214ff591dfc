"""Logs of HELM, OpenAI Evals and promptfoo, made as these write them: what they say, and that the rest is counted."""

import json
from collections import Counter

from tests.logs.conftest import lines, samples


def state(number, reply, *, right=1, trial=0, **more):
    """Return a request of HELM about a question with two options, of which the second is right."""
    texts = ["Lyon", "Paris"]
    return {
        "instance": {
            "input": {"text": f"Question {number}: capital of France?"}, "split": "test", "id": f"id{number}",
            "references": [{"output": {"text": each}, "tags": ["correct"] if place == right else []}
                           for place, each in enumerate(texts)],
        },
        "train_trial_index": trial, "output_mapping": dict(zip("AB", texts, strict=True)), "num_train_instances": 5,
        "request": {"model": "openai/gpt-4o-2024-05-13", "prompt": "…", "temperature": 0.0},
        "result": {
            "success": True, "request_datetime": 1_717_000_000,
            "completions": [{"text": each, "logprob": 0, "finish_reason": {"reason": "stop"},
                             "tokens": [{"text": each, "logprob": 0}]}
                            for each in (reply if isinstance(reply, list) else [reply])],
        },
        **more,
    }  # fmt: skip


def run_of_helm(tmp_path, *states, scores=()):
    folder = tmp_path / "mmlu:subject=geography,method=multiple_choice_joint,model=openai_gpt-4o-2024-05-13"
    folder.mkdir()
    about = {"method": "multiple_choice_joint", "model": "openai/gpt-4o-2024-05-13", "temperature": 0.0}
    path = folder / "scenario_state.json"
    path.write_text(json.dumps({"adapter_spec": about, "request_states": states}))
    if scores:
        (folder / "per_instance_stats.json").write_text(json.dumps(scores))
    return path


def test_a_run_of_helm_is_a_board_of_its_choices_scored_by_their_letters(tmp_path, take):
    path = run_of_helm(tmp_path, state(1, " B"), state(2, "A"), state(3, "The answer is B."), state(4, ""))
    done, (first, *_) = take(path), samples(path)
    assert (first.task, first.model) == (
        "mmlu:subject=geography,method=multiple_choice_joint", "openai/gpt-4o-2024-05-13",
    )  # fmt: skip
    assert first.said.started_at.year == 2024
    assert not first.said.logprobs  # zeros that stand for none
    assert (first.question["options"], first.question["answer"]) == (["Lyon", "Paris"], "B")
    assert done.kept == 4
    assert [model.name for model in done.study.models] == ["gpt-4o-2024-05-13"]


def test_trials_and_several_replies_of_helm_are_runs_and_what_is_no_reply_is_counted(tmp_path):
    found = samples(run_of_helm(
        tmp_path, state(1, ["A", "B"]), state(1, ["B", "B"], trial=1),
        state(2, "x", reference_index=0), state(3, "x", result={"success": False, "error": "Too many requests"}),
        {**(changed := state(4, "B")), "instance": {**changed["instance"], "perturbation": {"name": "typos"}}},
        state(5, "B", result={"success": True, "completions": 7}), {"instance": 3, "result": []}, "no object",
    ))  # fmt: skip
    assert [(each.run, each.said.text) for each in found[:4]] == [(1, "A"), (2, "B"), (3, "B"), (4, "B")]
    assert [each.why for each in found[4:]] == [
        "is the likelihood of one option, no reply", "was not answered: Too many requests",
        "asks a question that HELM had changed (a perturbation)", "was not answered: no completion",
        "was not answered: no completion",
    ]  # fmt: skip


def events(*rows, name="capitals.s1.simple-v0", model="gpt-3.5-turbo"):
    head = {"spec": {"completion_fns": [model], "eval_name": name, "run_config": {"seed": 7}, "run_id": "r"}}
    return "".join(json.dumps(each) + "\n" for each in (head, {"final_report": {"accuracy": 0.5}}, *rows))


def event(kind, number, **data):
    place = {"sample_id": f"capitals.s1.{number}", "created_at": "2026-04-17 22:10:13.127375+00:00"}
    return {**place, "type": kind, "data": data}


def test_a_log_of_openai_evals_is_scored_as_its_matches_say(tmp_path, take):
    chat = [{"role": "system", "content": "One word."}, {"role": "user", "content": "Capital of Italy?"}]
    path = tmp_path / "230417_gpt-3.5-turbo_capitals.jsonl"
    path.write_text(events(
        event("sampling", 1, prompt=chat, sampled=["Rome"]), event("match", 1, correct=True, expected="Rome"),
        event("sampling", 2, prompt="Capital of France?\nAssistant: ", sampled="Lyon"),
        event("match", 2, correct=False, expected=["Paris"], picked=None),
        event("sampling", 3, prompt="Why?", sampled=["Because."]),
        event("sampling", 3, prompt="Is it good?", sampled=["Y"]),
        event("metrics", 3, choice="Y", score=1.0),
        event("sampling", 4, prompt="Twice?", sampled=["a", "b"]), event("match", 4, correct=True, expected="a"),
        event("error", 5, type="RateLimitError", message="slow down"),
    ))  # fmt: skip
    found = samples(path)
    assert [(each.name[-1], each.said.text, each.right, each.run) for each in found] == [
        ("1", "Rome", True, 1), ("2", "Lyon", False, 1), ("3", "Because.", True, 1), ("4", "a", None, 1),
        ("4", "b", None, 2), ("5", "", None, 1),
    ]  # fmt: skip
    assert (found[0].task, found[0].model, found[0].question["question"], found[0].settings) == (
        "capitals.s1.simple-v0", "gpt-3.5-turbo", "Capital of Italy?", {"seed": 7},
    )  # fmt: skip
    assert found[-1].why == "was not answered: slow down"
    done = take(path)
    assert done.kept == 5
    assert Counter(why for _, _, why in done.rejected) == {
        "has no short right answer, and the log no verdict": 2, "was not answered: slow down": 1,
    }  # fmt: skip


def result(test, output, *, passed, provider="openai:gpt-4o", value="Paris", **more):
    asked = [{"role": "user", "content": f"Question {test}: capital of France?"}]
    return {
        "promptIdx": 0, "testIdx": test, "provider": {"id": provider, "label": ""}, "vars": {"n": test},
        "prompt": {"raw": json.dumps(asked), "label": "Question {{n}}"}, "success": passed, "score": float(passed),
        "response": {"output": output, "tokenUsage": {"total": 12, "prompt": 9, "completion": 3}},
        "testCase": {"assert": [{"type": "icontains", "value": value}]}, "latencyMs": 540, "cost": 0.0001, **more,
    }  # fmt: skip


RESULTS = [
    result(0, "Paris.", passed=True), result(0, "Lyon", passed=False, provider="anthropic:haiku"),
    result(1, {"city": "Paris"}, passed=True), result(1, None, passed=False, error="API error: 429", response={}),
    result(0, "Lyon", passed=False), result(2, "hm", passed=True, testCase={"assert": []}),
]  # fmt: skip


def test_results_of_promptfoo_are_right_where_their_assertions_passed(tmp_path, take):
    path = tmp_path / "out.json"
    path.write_text(json.dumps({"results": {"results": RESULTS}, "config": {"description": "capitals"}}))
    found = samples(path)
    assert [(each.model, each.said.text, each.right, each.run) for each in found] == [
        ("openai:gpt-4o", "Paris.", True, 1), ("anthropic:haiku", "Lyon", False, 1),
        ("openai:gpt-4o", '{"city":"Paris"}', True, 1), ("openai:gpt-4o", "", None, 2),
        ("openai:gpt-4o", "Lyon", False, 2), ("openai:gpt-4o", "hm", None, 1),
    ]  # fmt: skip
    assert found[3].why == "was not answered: API error: 429"
    assert (found[0].task, found[0].question["question"]) == ("capitals", "Question 0: capital of France?")
    said = found[0].said
    assert (said.cost_usd, said.usage.input_tokens, said.latency_s) == (0.0001, 9, 0.54)
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
    both = lines(tmp_path / "both.jsonl", *({**row, "provider": "a"} for row in rows))
    # prompts of one model are compared
    assert len({each.question["question"] for each in samples(both)}) == 6


def test_log_probabilities_of_helm_with_alternatives_are_kept(tmp_path):
    asked = state(1, " B")
    tops = {" B": -0.1, " A": -2.4}
    asked["result"]["completions"][0]["tokens"] = [{"text": " B", "logprob": -0.1, "top_logprobs": tops}]
    (first,) = samples(run_of_helm(tmp_path, asked))
    (only,) = first.said.logprobs
    assert (only.token, only.logprob, only.top) == (" B", -0.1, ((" B", -0.1), (" A", -2.4)))


def test_free_answers_of_helm_are_right_as_its_scores_say(tmp_path, take):
    free = [state(n, text, output_mapping=None) for n, text in enumerate(("Paris", "It is Lyon"), start=1)]
    long = state(3, "a proof", output_mapping=None)
    long["instance"]["references"] = [{"output": {"text": "Q.E.D. " * 40}, "tags": ["correct"]}]
    score = {"instance_id": "id3", "train_trial_index": 0, "stats": [
        {"name": {"name": "exact_match", "perturbation": {"name": "typos"}}, "mean": 0.0},
        {"name": {"name": "num_prompt_tokens"}, "mean": 100},
        {"name": {"name": "exact_match", "split": "test"}, "mean": 1.0},
    ]}  # fmt: skip
    path = run_of_helm(tmp_path, *free, long, scores=[score, {"instance_id": 3, "stats": 4}, 5])
    assert [each.right for each in samples(path)] == [None, None, True]
    done = take(path)
    assert (done.kept, done.rejected) == (3, ())
