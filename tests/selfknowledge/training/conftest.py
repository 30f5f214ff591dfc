"""Tests of training: skipped where torch is not installed; one thread, so that they are quick beside others."""

import json
from dataclasses import dataclass

import pytest

torch = pytest.importorskip("torch")

from metacog_pipeline.benchmarks.selfknowledge.training.causal import CausalRecipe  # noqa: E402
from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings, Tried  # noqa: E402
from metacog_pipeline.benchmarks.selfknowledge.training.interview import Asking  # noqa: E402
from metacog_pipeline.benchmarks.selfknowledge.training.questions import Question  # noqa: E402
from metacog_pipeline.benchmarks.selfknowledge.training.rewards import Counts  # noqa: E402
from metacog_pipeline.benchmarks.selfknowledge.training.weights import read_tensors, write_tensors  # noqa: E402
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Trainee  # noqa: E402

KINDS = ("llama", "gpt2")
COUNTS = Counts(8, 3, 4, 2, 8)
LETTERS = tuple("abcdef")  # random models say some of them now and then, so that rewards differ
ASKED = tuple(Question(str(i), f"What is number {i}?", LETTERS) for i in range(10))
TRAINING, HELD_OUT = ASKED[:7], ASKED[7:]
ASKING = Asking(max_tokens=4)
SETTINGS = Settings(sigma=0.1, alpha=0.05, population=8, batch=5, generations=3, reward="direct", seed=1)


def recipe(folder, **changed):
    return CausalRecipe(folder, TRAINING, HELD_OUT, ASKING, **{"settings": SETTINGS, **changed})


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def write_questions(path, answers=("a", "b", "c"), texts=tuple(f"Number {i}?" for i in range(10))):
    """Write questions that all have the same answers."""
    rows = [{"question": text, "answers": list(answers)} for text in texts]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@dataclass(frozen=True)
class Numbers:
    """A model of one tensor ``x``; ``fitness`` is of the tensor and the generation."""

    start: torch.Tensor
    fitness: object
    counts: Counts = COUNTS
    threads: int = 1

    def build(self):
        x = self.start.clone()
        return Trainee(
            {"x": x},
            lambda t: Tried(float(self.fitness(x, t)), self.counts),
            lambda part, of: self.counts,
            lambda folder: write_tensors(folder / "model.safetensors", {"x": x}),
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
        named = {"pad_token": "<|pad|>", "eos_token": "<|end|>", "additional_special_tokens": SPECIAL[2:]}
        fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, **named)
        fast.add_tokens(["Yes", "No", "Rome"])
        fast.chat_template = template
        return fast

    def config(kind, size):
        ends = {"vocab_size": size, "eos_token_id": 1, "pad_token_id": 0, "bos_token_id": None}
        if kind == "gpt2":
            return transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=512, **ends)
        sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
        return transformers.LlamaConfig(num_key_value_heads=2, max_position_embeddings=512, **sizes, **ends)

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
