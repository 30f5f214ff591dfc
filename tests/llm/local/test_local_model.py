"""A model in a folder among other models: batches, identity by content, mistakes told in one line, a study run whole."""

import shutil

import pytest

from metacog_pipeline.errors import ProviderError
from metacog_pipeline.llm.local import generation as local_model
from metacog_pipeline.llm.local.weights import weights_digest
from metacog_pipeline.llm.types import ChatRequest, ErrorKind, Message, Sampling, Status
from tests.llm.local.conftest import answers, spec_of

torch = pytest.importorskip("torch", reason="the extra train is not installed")


def request(n):
    return ChatRequest((Message("user", f"Question {n}?"),), Sampling(max_tokens=4))


def test_calls_that_wait_together_are_answered_together(folders, monkeypatch):
    sizes = []
    plain = local_model.answer_batch
    monkeypatch.setattr(
        local_model, "answer_batch", lambda loaded, batch: sizes.append(len(batch)) or plain(loaded, batch)
    )
    found = answers(spec_of(folders["llama"], batch_size=8), [request(n) for n in range(20)])
    assert sorted(sizes) == [4, 8, 8]
    assert all(each.status is not Status.FAILED and each.cost_usd == 0 for each in found)
    assert found[0].model_reported.startswith(f"local/{folders['llama'].name}@")


def test_a_device_that_fails_fails_the_calls_and_not_the_run(folders, monkeypatch):
    def broken(loaded, batch):
        raise RuntimeError("out of\nmemory")

    monkeypatch.setattr(local_model, "answer_batch", broken)
    for each in answers(spec_of(folders["llama"]), [request(n) for n in range(3)]):
        assert each.status is Status.FAILED and each.error_kind is ErrorKind.TRANSIENT
        assert each.error_message == "model mine: RuntimeError: out of memory"


def test_identity_is_what_the_folder_holds_wherever_it_is(folders, make_folder, tmp_path):
    copied = shutil.copytree(folders["llama"], tmp_path / "elsewhere")
    assert spec_of(copied).identity_fields() == spec_of(folders["llama"]).identity_fields()
    other = make_folder("llama", seed=1)
    assert spec_of(other).identity_fields() != spec_of(folders["llama"]).identity_fields()
    assert spec_of(copied, dtype="bfloat16").identity_fields() != spec_of(copied).identity_fields()
    assert spec_of(copied, batch_size=2).identity_fields() == spec_of(copied).identity_fields()


def test_large_files_are_told_apart_by_samples(tmp_path, monkeypatch):
    from metacog_pipeline.llm.local import weights

    monkeypatch.setattr(weights, "SMALL_FILE", 1000)
    (tmp_path / "config.json").write_text("{}")
    file = tmp_path / "model.safetensors"
    file.write_bytes(bytes(1 << 20))
    before = weights_digest(str(tmp_path))
    file.write_bytes(bytes(1 << 20) + b"1")
    assert weights_digest(str(tmp_path)) != before


@pytest.mark.parametrize("content", [None, "notes.txt"])
def test_a_folder_without_a_model_is_one_line(tmp_path, content):
    if content:
        (tmp_path / content).write_text("x")
    assert weights_digest(str(tmp_path)) is None
    with pytest.raises(ProviderError, match=r"no model here \(config\.json is missing\)"):
        answers(spec_of(tmp_path), [request(0)])


def test_a_torn_or_foreign_folder_is_one_line(folders, tmp_path):
    torn = shutil.copytree(folders["llama"], tmp_path / "torn")
    weights = torn / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ProviderError, match="torn: cannot be opened") as caught:
        answers(spec_of(torn), [request(0)])
    assert "\n" not in str(caught.value)


def test_pickled_weights_are_never_read(folders, tmp_path):
    pickled = shutil.copytree(folders["llama"], tmp_path / "pickled")
    (pickled / "model.safetensors").unlink()
    torch.save({}, pickled / "pytorch_model.bin")
    with pytest.raises(ProviderError, match="cannot be opened"):
        answers(spec_of(pickled), [request(0)])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_device_that_is_not_there_is_one_line(folders):
    with pytest.raises(ProviderError, match="cannot be opened on cuda:3"):
        answers(spec_of(folders["llama"], device="cuda:3"), [request(0)])
