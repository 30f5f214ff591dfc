"""Tests of training: skipped where torch is not installed; one thread, so that they are quick beside others."""

import json
import multiprocessing
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from metacog_pipeline.benchmarks.selfknowledge.training.tensors import read_tensors, write_tensors  # noqa: E402
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Trainee  # noqa: E402

#: What workers load before they do anything: more than half of the processor time of one.
LOADED = (
    "metacog_pipeline.benchmarks.selfknowledge.training.engines.processes",
    "metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe",
    "metacog_pipeline.benchmarks.selfknowledge.training.toy.recipe",
    "transformers.models.llama.modeling_llama",
)


@pytest.fixture(scope="session", autouse=True)
def workers_are_forked():
    """Have workers fork from one process that has loaded what each of them would load anew."""
    from metacog_pipeline.benchmarks.selfknowledge.training.engines import processes

    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(list(LOADED))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "multiprocessing", SimpleNamespace(get_context=lambda how: forks))
        yield


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def short_base(monkeypatch):
    """Train the toy's base model for a few steps only."""
    from metacog_pipeline.benchmarks.selfknowledge.training.toy import demo
    from metacog_pipeline.benchmarks.selfknowledge.training.toy.base import train_base

    monkeypatch.setattr(
        demo, "train_base", lambda world, seed, steps, done: train_base(world, seed, 20, done)
    )


def write_questions(path, answers=("a", "b", "c"), texts=tuple(f"Number {i}?" for i in range(10))):
    """Write questions that all have the same answers."""
    rows = [{"question": text, "answers": list(answers)} for text in texts]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def no_space(*given, **named):
    """Fail as the library of model files does on a full disk."""
    raise RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)")


def numbers(values, fitness, validate=None):
    """Return a trainee of one tensor ``x``; ``fitness`` is of the tensor and the generation."""
    model = torch.nn.Module()
    model.x = torch.nn.Parameter(values)
    return Trainee(
        model,
        lambda model, t: fitness(model.x.detach(), t),
        validate,
        lambda model, folder: write_tensors(folder / "model.safetensors", dict(model.named_parameters())),
        lambda folder: read_tensors(folder / "model.safetensors"),
    )


TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]


@pytest.fixture(scope="session")
def make_model(tmp_path_factory):
    """Make folders with tiny random models of two architectures, one with tied tensors, tokenizer and all."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()

    def tokenizer(template):
        letters = sorted(pre_tokenizers.ByteLevel.alphabet())
        made = Tokenizer(models.BPE({token: i for i, token in enumerate([*SPECIAL, *letters])}, []))
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        fast = transformers.PreTrainedTokenizerFast(
            tokenizer_object=made,
            pad_token="<|pad|>",
            eos_token="<|end|>",
            additional_special_tokens=SPECIAL[2:],
        )
        fast.add_tokens(["Yes", "No", "Rome"])
        fast.chat_template = template
        return fast

    def config(kind, size):
        ends = {"eos_token_id": 1, "pad_token_id": 0, "bos_token_id": None}
        if kind == "llama":
            return transformers.LlamaConfig(
                vocab_size=size,
                hidden_size=32,
                intermediate_size=48,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                max_position_embeddings=512,
                **ends,
            )
        return transformers.GPT2Config(
            vocab_size=size, n_embd=32, n_layer=2, n_head=4, n_positions=512, **ends
        )

    made = {}

    def make(kind, template=TEMPLATE):
        if (kind, template) not in made:
            folder = tmp_path_factory.mktemp(kind)
            words = tokenizer(template)
            torch.manual_seed(0)
            model = transformers.AutoModelForCausalLM.from_config(config(kind, len(words)))
            with torch.no_grad():
                for weights in model.parameters():
                    if weights.dim() > 1:
                        weights.normal_(0, 0.3)
            model.save_pretrained(folder)
            words.save_pretrained(folder)
            made[kind, template] = folder
        return made[kind, template]

    return make
