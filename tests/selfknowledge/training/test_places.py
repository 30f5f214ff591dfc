"""Where the work goes changes nothing of what comes out: devices, a master the workers share, parts of the questions."""

from dataclasses import replace
from multiprocessing.shared_memory import SharedMemory

import pytest
import torch

from metacog_pipeline.benchmarks.selfknowledge.training import room
from metacog_pipeline.benchmarks.selfknowledge.training.causal import generation
from metacog_pipeline.benchmarks.selfknowledge.training.causal.evolve import Means, evolve, largest_rows
from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe, places
from metacog_pipeline.benchmarks.selfknowledge.training.engines import choice, shared
from metacog_pipeline.benchmarks.selfknowledge.training.engines.pool import WorkerLost
from metacog_pipeline.benchmarks.selfknowledge.training.engines.processes import placed
from metacog_pipeline.benchmarks.selfknowledge.training.log import Log
from metacog_pipeline.benchmarks.selfknowledge.training.run import Plan, train
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker
from metacog_pipeline.errors import MetacogError, StudyError
from tests.selfknowledge.training.test_causal import ASKED, SETTINGS, recipe
from tests.selfknowledge.training.test_pool import SETTINGS as LINES
from tests.selfknowledge.training.test_pool import Here, Line, digests
from tests.tables import every


@every(("items", "rows", "workers"), [(10, 3, 2), (1, 64, 4), (64, 8, 3), (7, 1, 7), (0, 4, 2)])
def test_questions_held_out_are_dealt_out_in_the_batches_of_one_worker(items, rows, workers):
    parts = [places(items, rows, part, workers) for part in range(workers)]
    assert sorted(place for part in parts for place in part) == list(range(items))
    whole = [tuple(range(begin, min(begin + rows, items))) for begin in range(0, items, rows)]
    mine = [tuple(part[k : k + rows]) for part in parts for k in range(0, len(part), rows)]
    assert sorted(mine) == whole


def test_parts_of_the_questions_add_up_to_all_of_them(make_model):
    asked = replace(recipe(make_model("llama")), held_out=ASKED)
    asked = replace(asked, asking=replace(asked.asking, rows=3))
    worker = Worker(asked)
    whole = worker.validate()
    parts = [worker.validate(part, 3) for part in range(3)]
    assert parts[0] + parts[1] + parts[2] == whole
    assert worker.validate(7, 8).n == 0


class Sharing(Here):
    """A worker without a process that takes the shared master; ``falls`` in the middle of its calls where told."""

    def __init__(self, master, falls=()):
        self.worker = Worker(Line(), shared=master)
        self.falls, self.calls, self.left = set(falls), 0, None

    def close(self):
        if self.worker is not None:
            self.worker.close()
        self.worker = None


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("metacog_pipeline.benchmarks.selfknowledge.training.weights.BLOCK", 3)


@pytest.mark.parametrize("workers", [2, 3, 9])
def test_workers_with_one_master_make_the_same_weights(tmp_path, workers):
    one = digests(tmp_path / "one", Worker(Line()))
    names = []

    def take(number, master):
        names.append(master.name)
        return Sharing(master)

    pool = shared.SharedPool(take, workers, 20)
    assert digests(tmp_path / "many", pool) == one
    again = shared.SharedPool(take, workers, 20)
    assert digests(tmp_path / "many", again, resume=True, from_checkpoint=2) == one
    for name in set(names):
        with pytest.raises(FileNotFoundError):
            SharedMemory(name)


@pytest.mark.parametrize("call", range(2, 12))
def test_a_worker_lost_at_any_call_with_one_master_changes_nothing(tmp_path, call):
    one = digests(tmp_path / "one", Worker(Line()))
    taken = []

    def take(number, master):
        taken.append(number)
        return Sharing(master, falls=[call] if len(taken) == 2 else [])

    assert digests(tmp_path / "two", shared.SharedPool(take, 2, 20)) == one
    assert taken == [0, 1, 1]


def test_a_worker_lost_in_every_update_ends_the_run(tmp_path):
    class Falling(Sharing):
        def send(self, method, *arguments):
            if method == "commit_part":
                raise WorkerLost
            super().send(method, *arguments)

    pool = shared.SharedPool(lambda number, master: Falling(master), 2, 20)
    try:
        with pytest.raises(MetacogError, match="lost 4 times"):
            train(LINES, Plan(tmp_path / "r"), pool)
    finally:
        pool.close()


def test_shared_memory_without_room_is_named(monkeypatch):
    monkeypatch.setattr(shared.shutil, "disk_usage", lambda path: shared.shutil._ntuple_diskusage(9, 9, 0))
    with pytest.raises(StudyError, match=r"no room .* --master file"):
        shared.SharedPool(lambda number, master: None, 2, 20)


@pytest.mark.proof
def test_two_processes_with_one_master_evolve_a_language_model_as_one_does(make_model, tmp_path, monkeypatch):
    monkeypatch.setattr("metacog_pipeline.benchmarks.selfknowledge.training.weights.BLOCK", 997)
    base = make_model("llama")
    one = evolve(recipe(base, dtype="bfloat16"), tmp_path / "one", checkpoint_every=2)
    two = evolve(
        recipe(base, dtype="bfloat16"),
        tmp_path / "two",
        Means(workers=2, master="shared"),
        checkpoint_every=2,
    )
    assert two.digest == one.digest
    records = [[each.held_out for each in Log(made.folder).read()] for made in (one, two)]
    assert records[0] == records[1]


@pytest.mark.parametrize(
    ("text", "found"), [("cuda:0,cuda:3", ("cuda:0", "cuda:3")), ("cpu", ("cpu",)), ("auto", ("cpu",))]
)
def test_devices_are_named(text, found, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert choice.devices_named(text) == found
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choice.devices_named("auto") == ("cuda:0", "cuda:1")


@every("text", ["", "gpu", "cuda:0,", "cpu,cuda:0", "cuda:-1", "cuda:0;rm"])
def test_what_is_no_device_is_refused(text):
    with pytest.raises(StudyError, match="devices"):
        choice.devices_named(text)


def test_each_worker_has_a_device_of_its_own(make_model):
    asked = recipe(make_model("llama"))
    devices = ("cuda:0", "cuda:1")
    assert [placed(asked, devices, k).device for k in range(3)] == ["cuda:0", "cuda:1", "cuda:0"]
    one, means = Means(0, devices=devices).placed(asked)
    assert (one.device, means.workers) == ("cuda:0", 2)
    assert Means(0).placed(asked)[1].workers == 1


@pytest.mark.parametrize(
    ("devices", "gpus", "wanted"),
    [
        (("cpu",), None, ("cpu", 0.0)),
        (("cuda:0", "cuda:1"), None, ("cuda", 1.0)),
        (("cuda:0",), 0.5, ("cuda", 0.5)),
    ],
)
def test_actors_of_ray_take_the_cards_that_the_recipe_needs(make_model, monkeypatch, devices, gpus, wanted):
    asked = []
    monkeypatch.setattr(choice, "ray_actors", lambda recipe, *more: asked.append((recipe.device, more[-1])))
    choice.open_engine(recipe(make_model("llama")), 2, "ray", gpus=gpus, devices=devices)
    assert asked == [wanted]


def test_the_largest_batch_is_found_once_and_recorded(make_model, tmp_path, monkeypatch):
    asked = recipe(make_model("llama"))
    tried = []

    def answers(loaded, prompts, most, rows):
        tried.append(rows)
        if rows > 2:
            raise torch.OutOfMemoryError
        return [""] * len(prompts)

    with monkeypatch.context() as patch:
        patch.setattr(generation, "answers", answers)
        assert largest_rows(asked) == 2
        assert tried == [1, 2, 4]
    assert largest_rows(asked) == SETTINGS.batch == 5
    monkeypatch.setattr(room, "host_free", lambda: 0)
    assert largest_rows(replace(asked, settings=replace(SETTINGS, batch=256))) < 256
    monkeypatch.undo()
    made = evolve(
        replace(asked, settings=replace(SETTINGS, generations=1)), tmp_path / "r", Means(fit_rows=True)
    )
    assert Log(made.folder).about()["about"]["asking"]["rows"] == 5
    monkeypatch.setattr("metacog_pipeline.benchmarks.selfknowledge.training.causal.evolve.largest_rows", None)
    longer = evolve(asked, tmp_path / "r", Means(fit_rows=True), resume=True)
    assert len(Log(longer.folder).read()) == SETTINGS.generations


def test_a_shared_master_needs_workers_to_share_it(make_model):
    with pytest.raises(StudyError, match="several --workers"):
        choice.shared_weights("shared", make_model("llama"), 1, "process")
    assert choice.shared_weights("auto", make_model("llama"), 2, "process") == 0  # too small to matter
    assert choice.shared_weights("shared", make_model("llama"), 2, "process") > 0
    assert isinstance(recipe(make_model("llama")), CausalRecipe)
