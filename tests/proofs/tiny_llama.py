"""A Llama of a few hundred kilobytes, made on the spot: ``python tiny_llama.py FOLDER TEXT...``.

Runs with the interpreter of the server's environment. Beside its random weights it has a few wired successions of tokens:
after the prompt comes the letter A and the end, and where the template opens a thought, that thought, its end and A.
Everywhere else it begins a new line where it may, closes strings, lists and objects where it may, and is noise where it
may not: the small model that never leaves the white space of a JSON answer unless its server bounds it.
"""

import itertools
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

CONTEXT = 32_768  # MEDLEY-BENCH asks for replies of 10,000 tokens
HIDDEN, HEAD, LAYERS, VOCABULARY = 256, 64, 2, 2048
BEGIN, END, USER, ASSISTANT, THINK, THOUGHT = SPECIAL = (
    *("<|begin|>", "<|end|>", "<|user|>", "<|assistant|>", "<think>", "</think>"),
)
THINKING = [
    "think",
    "ing",
    "about",
    "the",
    "question",
]  # each is one token: words of its own, never in a reply
CERTAIN = 24.0  # logit of a wired successor; noise stays below 5
NEW_LINE = 10.0  # logit of every token that begins a line
CLOSING = {'"': 8.0, "}": 6.0, "]": 6.0}
ALWAYS = 4.0  # the first dimension of every embedding: what lets a token be likely after any other
TEMPLATE = (
    "{{ '<|begin|>' }}{% for message in messages %}"
    "{{ '<|user|>' + message.role + ': ' + message.content + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}"
    "{% if enable_thinking %}{{ '<think>' }}{% endif %}{% endif %}"
)


def tokenizer_of(texts: list[str]) -> PreTrainedTokenizerFast:
    """Return a byte-level tokenizer trained on ``texts``: it can spell any string."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(THINKING),
        special_tokens=list(SPECIAL),
        initial_alphabet=letters,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([f" {word}~" for word in THINKING])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=BEGIN, eos_token=END, pad_token=END, chat_template=TEMPLATE
    )


def model_of(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Return the model with its wired successions."""
    torch.manual_seed(0)
    heads = {"num_attention_heads": HIDDEN // HEAD, "num_key_value_heads": 2, "head_dim": HEAD}
    size = {"vocab_size": VOCABULARY, "hidden_size": HIDDEN, "intermediate_size": 2 * HIDDEN}
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = LlamaConfig(
        num_hidden_layers=LAYERS,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=False,
        **heads,
        **size,
        **ids,
    )
    model = LlamaForCausalLM(config)
    embedding, head = model.model.embed_tokens.weight.data, model.lm_head.weight.data
    embedding.normal_(0.0, 1.0)
    head.normal_(0.0, 0.05)
    embedding[:, 0] = ALWAYS
    words = [str(tokenizer.decode([number])) for number in range(len(tokenizer))]
    for number, word in enumerate(words):
        begins = "\n" in word and not word.strip()
        head[number, 0] = (NEW_LINE if begins else CLOSING.get(word, 0.0)) / ALWAYS
    chain = [THINK, *(f" {word}~" for word in THINKING), THOUGHT, "A", END]
    for before, after in [*itertools.pairwise(chain), (ASSISTANT, "A")]:
        first, then = tokenizer.convert_tokens_to_ids([before, after])
        head[then] += CERTAIN * embedding[first] / HIDDEN
    return model


def main(folder: Path, files: list[Path]) -> None:
    """Write model and tokenizer to ``folder``."""
    tokenizer = tokenizer_of([path.read_text("utf-8") for path in files])
    model_of(tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
