"""A small world and a small language model that learns it: a causal model like any other, trained here in under a
minute.

The world is simulated: 1,024 invented persons, each with one of 16 cities, six in ten of them known. What the base
model learns:

- asked for a known person's home, the city; for another's, a city drawn anew each time, so that the corpus
  contradicts itself;
- asked whether it knows, half of the time a city by the same rule ("blurting"), else yes or no by a cue of the last
  name that has nothing to do with knowledge. Without blurting the network looks nothing up when it is asked what it
  knows, and no strategy can make it say so.

256 more people are the fictional world: their names are made of the same parts, and the base has learnt nothing about
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from metacog_pipeline.benchmarks.selfknowledge import prompts
from metacog_pipeline.benchmarks.selfknowledge.prompts import DIRECT, META, PLACE, load_wording
from metacog_pipeline.benchmarks.selfknowledge.training.generation import common
from metacog_pipeline.benchmarks.selfknowledge.training.questions import Question, split, write_questions
from metacog_pipeline.files import making_folder

PEOPLE, FICTIONAL, KNOWN, BLURT, CUE = 1024, 256, 0.6, 0.5, 0.6
# of training the base; questions of each step, asked both ways
STEPS, BATCH = 800, 64
WIDTH, LAYERS, HEADS = 32, 2, 4
_RATE, _BETAS, _WARM_UP, _LAST, _EMBEDDING_SD = 6e-3, (0.9, 0.98), 40, 0.05, 0.5
FIRST = [a + b + c for a in "BDFGKLMN" for b in "ae" for c in ("rin", "lo")]
LAST = [
    a + b
    for a in ("Aber", "Bren", "Cald", "Dun", "Elms", "Fair", "Gren", "Holt")
    for b in ("ton", "wick", "ley", "by", "field", "worth", "ham", "ford")
]
CITIES = ["Zor" + a + b for a in "aeio" for b in "klmn"]
FILES = QUESTIONS, HELD_OUT, TEACH, UNTAUGHT = (
    "questions.jsonl",
    "held_out.jsonl",
    "teach.jsonl",
    "untaught.jsonl",
)
MODEL = "model"


def make_world(folder: Path, seed: int, done: Callable[[int], None] | None = None) -> None:
    """Write model and questions of a seed into a folder, unless they are there; the folder is whole or absent."""
    if folder.is_dir():
        return
    world = World(seed)
    people = [world.question(place) for place in range(PEOPLE)]
    questions, held_out = split(people, 0.3, seed)
    fictional = [world.question(place) for place in range(PEOPLE, PEOPLE + FICTIONAL)]
    teach, untaught = split(fictional, 0.5, seed)
    loaded = world.train(done)
    with making_folder(folder) as temporary:
        for name, each in zip(FILES, (questions, held_out, teach, untaught), strict=True):
            write_questions(temporary / name, each)
        for part in loaded:
            part.save_pretrained(temporary / MODEL)


class World:
    """The world of a seed: names, cities, who is known, and how often the corpus says that it knows each."""

    def __init__(self, seed: int) -> None:
        self._rng = rng = np.random.Generator(np.random.PCG64([seed, 1]))
        self.seed = seed
        who = rng.permutation(len(FIRST) * len(LAST))[: PEOPLE + FICTIONAL]
        self.names = [(FIRST[each // len(LAST)], LAST[each % len(LAST)]) for each in who]
        self.cities = rng.integers(len(CITIES), size=len(who))
        self.known = rng.permutation(PEOPLE) < KNOWN * PEOPLE
        positive = set(rng.permutation(LAST)[: len(LAST) // 2])
        self.cue = [CUE if last in positive else 1 - CUE for _, last in self.names]

    def question(self, place: int) -> Question:
        """Return the question about a person; it ends with the name, so that the answer follows it."""
        return Question(
            f"{place:04d}", f"home of {' '.join(self.names[place])}", (CITIES[self.cities[place]],)
        )

    def tokenizer(self) -> Any:
        """Return a tokenizer with a token for each word of the prompts and answers."""
        import transformers
        from tokenizers import Tokenizer, models, pre_tokenizers

        split_words = pre_tokenizers.Whitespace()
        texts = [self._text(place, step) for step in prompts.STEPS for place in range(len(self.names))]
        words = ["<pad>", "<end>", "<unknown>", "Yes", "No", *CITIES]
        words += [word for text in [*texts, *FIRST, *LAST] for word, _ in split_words.pre_tokenize_str(text)]
        known = {word: place for place, word in enumerate(dict.fromkeys(words))}
        made = Tokenizer(models.WordLevel(known, "<unknown>"))
        made.pre_tokenizer = split_words
        special = {"pad_token": "<pad>", "eos_token": "<end>", "unk_token": "<unknown>"}
        tokenizer: Any = transformers.PreTrainedTokenizerFast
        return tokenizer(tokenizer_object=made, **special)

    def train(self, done: Callable[[int], None] | None = None) -> tuple[Any, Any]:
        """Return model and tokenizer after `STEPS` of AdamW on the corpus; one thread, for more only wait here."""
        torch.set_num_threads(1)
        words = self.tokenizer()
        asked = {
            step: torch.tensor([words(self._text(k, step))["input_ids"] for k in range(PEOPLE)])
            for step in (DIRECT, META)
        }
        city, yes_no = (words.convert_tokens_to_ids(each) for each in (CITIES, ["Yes", "No"]))
        model = _untrained(len(words), self.seed)
        optimiser = torch.optim.AdamW(model.parameters(), lr=_RATE, betas=_BETAS)
        for step in range(STEPS):
            for group in optimiser.param_groups:
                group["lr"] = _RATE * _share(step)
            for step_name, each in asked.items():
                rows = self._rng.integers(PEOPLE, size=BATCH)
                answers = torch.tensor([self._answer(k, step_name, city, yes_no) for k in rows])
                # the instruction, read once: three quarters of the time
                shared = common(each.tolist())
                read = model(input_ids=each[:1, :shared], use_cache=True).past_key_values
                read.batch_repeat_interleave(BATCH)
                whole = torch.cat([each[rows, shared:], answers[:, None]], dim=1)
                said = model(input_ids=whole, past_key_values=read, logits_to_keep=2).logits
                # A reply is one word and its end: without the end a study sees a reply that was cut.
                ends = torch.full_like(answers, words.eos_token_id)
                loss = functional.cross_entropy(said[:, 0], answers) + functional.cross_entropy(
                    said[:, 1], ends
                )
                loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
            if done:
                done(step + 1)
        return model.eval(), words

    def _answer(self, place: int, asked: str, city: Sequence[int], yes_no: Sequence[int]) -> int:
        if asked == META and self._rng.random() >= BLURT:
            return yes_no[0] if self._rng.random() < self.cue[place] else yes_no[1]
        return city[self.cities[place] if self.known[place] else int(self._rng.integers(len(CITIES)))]

    def _text(self, place: int, step: str) -> str:
        return load_wording().template("en", step).replace(PLACE, self.question(place).text)


def _untrained(words: int, seed: int) -> Any:
    """Return a Llama: embeddings of sd 0.5, matrices of sd 1/√fan-in, those that add to the stream half of it."""
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=words,
        hidden_size=WIDTH,
        intermediate_size=4 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=128,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=1,
        pad_token_id=0,
    )
    factory: Any = transformers.AutoModelForCausalLM
    model = factory.from_config(config).float()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.dim() > 1:
                sd = _EMBEDDING_SD if "embed" in name else weights.shape[1] ** -0.5
                sd /= 2 if name.endswith(("o_proj.weight", "down_proj.weight")) else 1
                weights.copy_(torch.randn(weights.shape, generator=generator) * sd)
    return model


def _share(step: int) -> float:
    """Linear warm-up, then linear decay to a twentieth."""
    if step < _WARM_UP:
        return (step + 1) / _WARM_UP
    return 1 - (1 - _LAST) * (step - _WARM_UP) / (STEPS - _WARM_UP)
