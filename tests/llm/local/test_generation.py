"""What a model in a folder answers: alike alone and in a batch, held to what was asked, with its own probabilities."""

import math

import pytest

from metacog_pipeline.llm import types
from metacog_pipeline.llm.local.generation import answer_batch, prompt_ids
from metacog_pipeline.llm.local.loading import load
from tests.llm.local.conftest import spec_of

torch = pytest.importorskip("torch", reason="the extra train is not installed")
KINDS = ("llama", "gpt2")
QUESTIONS = ("Question: What is it?", "Q", "A much longer question about the capital of a country far away?")


def ask(text, constraint=None, **sampling):
    return types.ChatRequest(
        (types.Message("user", text),), types.Sampling(**{"max_tokens": 12, **sampling}), constraint
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_answers_as_each_question_alone(folders, kind):
    loaded = load(spec_of(folders[kind]))
    requests = [ask(text, top_logprobs=3) for text in QUESTIONS]
    together = answer_batch(loaded, requests)
    for request, batched in zip(requests, together, strict=True):
        (alone,) = answer_batch(loaded, [request])
        assert (alone.text, alone.status, alone.usage) == (batched.text, batched.status, batched.usage)
        for one, other in zip(alone.logprobs, batched.logprobs, strict=True):
            assert one.token == other.token and one.logprob == pytest.approx(other.logprob, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_answers_are_those_of_the_library(folders, kind):
    loaded = load(spec_of(folders[kind]))
    for text in QUESTIONS:
        ids = torch.tensor([prompt_ids(loaded, ask(text))])
        greedy = {"attention_mask": torch.ones_like(ids), "max_new_tokens": 12, "do_sample": False}
        out = loaded.model.generate(ids, pad_token_id=0, **greedy)
        expected = loaded.tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True)
        assert answer_batch(loaded, [ask(text)])[0].text == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_choice_is_one_of_the_options_and_complete(folders, kind):
    loaded, options = load(spec_of(folders[kind])), ("Yes", "No", "Not sure", "No way")
    texts, held = [f"{text} {n}" for text in QUESTIONS for n in range(20)], types.OneOf(options)
    found = answer_batch(loaded, [ask(text, held) for text in texts[::4]])
    assert all(each.text in options and each.status is types.Status.OK for each in found)
    drawn = answer_batch(loaded, [ask(text, held, temperature=2.0) for text in texts])
    assert {each.text for each in drawn} == set(options)


def test_a_choice_takes_the_likelier_first_token(folders):
    loaded = load(spec_of(folders["llama"]))
    ids = prompt_ids(loaded, ask(QUESTIONS[0]))
    logits = loaded.model(torch.tensor([ids])).logits[0, -1].detach().log_softmax(-1)
    yes, no = (loaded.tokenizer.convert_tokens_to_ids(word) for word in ("Yes", "No"))
    (found,) = answer_batch(loaded, [ask(QUESTIONS[0], types.OneOf(("Yes", "No")), top_logprobs=20)])
    assert found.text == ("Yes" if logits[yes] > logits[no] else "No")
    first = found.logprobs[0]
    assert first.logprob == pytest.approx(float(logits[yes if found.text == "Yes" else no]), abs=1e-4)
    assert len(first.top) == 20 and first.top[0][1] == pytest.approx(float(logits.max()), abs=1e-4)


def test_probabilities_are_those_before_constraint_and_temperature(folders):
    loaded = load(spec_of(folders["llama"]))
    (plain,) = answer_batch(loaded, [ask("Q", top_logprobs=5)])
    (bent,) = answer_batch(loaded, [ask("Q", top_logprobs=5, temperature=1.7)])
    assert plain.logprobs[0].top == bent.logprobs[0].top
    assert plain.logprobs[0].logprob == plain.logprobs[0].top[0][1]


def test_the_same_question_gets_the_same_draw_whatever_it_is_batched_with(folders):
    loaded = load(spec_of(folders["llama"]))
    request = ask(QUESTIONS[1], temperature=1.0, seed=3)
    alone = answer_batch(loaded, [request])[0].text
    others = [ask(f"{n} {QUESTIONS[2]}", temperature=0.7, seed=n) for n in range(6)]
    assert answer_batch(loaded, [*others, request])[-1].text == alone
    drawn = {answer_batch(loaded, [ask(QUESTIONS[1], temperature=1.0, seed=n)])[0].text for n in range(8)}
    assert len(drawn) > 1


def test_draws_follow_the_probabilities(folders):
    loaded = load(spec_of(folders["llama"]))
    logits = loaded.model(torch.tensor([prompt_ids(loaded, ask("Q"))])).logits[0, -1].detach()
    yes, no = (loaded.tokenizer.convert_tokens_to_ids(word) for word in ("Yes", "No"))
    p_yes, n, held = float(torch.softmax(logits[[yes, no]], -1)[0]), 400, types.OneOf(("Yes", "No"))
    drawn = answer_batch(loaded, [ask("Q", held, temperature=1.0, seed=seed) for seed in range(n)])
    share = sum(each.text == "Yes" for each in drawn) / n
    assert abs(share - p_yes) < 4 * math.sqrt(p_yes * (1 - p_yes) / n) + 1e-9


def test_what_cannot_be_asked_fails_alone(folders):
    loaded = load(spec_of(folders["llama"]))
    schema = types.JsonObject("x", "{}")
    bias = types.TokenBias(((1, 100),))
    requests = [ask("Q"), ask("Q", schema), ask("Q", bias), ask("word " * 400)]
    fine, shaped, biased, long = answer_batch(loaded, requests)
    assert fine.status in (types.Status.OK, types.Status.TRUNCATED)
    for each in (shaped, biased):
        assert each.error_kind is types.ErrorKind.UNSUPPORTED and each.error_code == "unsupported_constraint"
    assert long.error_code == "context_length_exceeded"


def test_an_answer_cut_by_its_limit_is_truncated(folders):
    loaded = load(spec_of(folders["llama"]))
    (whole,) = answer_batch(loaded, [ask("Q", max_tokens=30)])
    assert whole.status is types.Status.TRUNCATED and whole.usage.output_tokens == 30


def test_the_chat_template_wraps_every_step_and_doubles_no_start(folders, make_folder):
    loaded = load(spec_of(folders["llama"]))
    text = loaded.tokenizer.decode(prompt_ids(loaded, ask("Hello")))
    assert text == "<|user|>Hello<|end|><|assistant|>"
    plain = load(spec_of(make_folder("llama", template=None)))
    assert plain.tokenizer.decode(prompt_ids(plain, ask("Hello"))) == "Hello"


def test_a_template_that_refuses_fails_that_question_only(make_folder):
    loaded = load(spec_of(make_folder("llama", template="{{ raise_exception('no system here') }}")))
    (found,) = answer_batch(loaded, [ask("Q")])
    assert found.status is types.Status.FAILED and "no system here" in (found.error_message or "")


def test_bfloat16_weights_answer_too(folders):
    loaded = load(spec_of(folders["llama"], dtype="bfloat16"))
    assert loaded.model.dtype is torch.bfloat16
    assert answer_batch(loaded, [ask("Q", top_logprobs=2)])[0].logprobs
