"""However many workers there are, and whatever befalls them, there is one trajectory, or an error."""

import errno
import pickle
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import torch

from metacog_pipeline.benchmarks.selfknowledge.training.engines.pool import Pool, Served, WorkerLost, returned
from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings, Tried
from metacog_pipeline.benchmarks.selfknowledge.training.log import Log
from metacog_pipeline.benchmarks.selfknowledge.training.run import Plan, train
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker
from metacog_pipeline.errors import MetacogError, StudyError
from tests.selfknowledge.training.conftest import numbers

SETTINGS = Settings(sigma=0.1, alpha=0.1, population=7, generations=5)


@dataclass(frozen=True)
class Line:
    """A tensor that should become 1, 2, 3, …"""

    begin: float = 0.0
    threads: int = 1

    def base(self):
        return dict(self.build().model.named_parameters())

    def build(self):
        wanted = torch.arange(20.0)
        return numbers(torch.full((20,), self.begin), lambda x, t: Tried(-float((x - wanted).abs().sum())))


class Here:
    """A worker without a process; ``falls`` are the numbers of the calls at which its worker is lost."""

    def __init__(self, recipe=None, falls=()):
        self.worker, self.falls, self.calls, self.left = Worker(recipe or Line()), set(falls), 0, None

    def send(self, method, *arguments):
        self.calls += 1
        if self.calls in self.falls:
            raise WorkerLost
        self.left = getattr(self.worker, method)(*arguments)

    def answer(self):
        return self.left

    def close(self):
        self.worker = None


def digests(folder, pool, **options):
    try:
        train(SETTINGS, Plan(folder, 2), pool, **options)
    finally:
        pool.close()
    return [each.commit.digest for each in Log(folder).read()]


@pytest.mark.parametrize("workers", [2, 4, 9])
def test_any_number_of_workers_makes_the_same_weights(tmp_path, workers):
    one = digests(tmp_path / "one", Worker(Line()))
    assert digests(tmp_path / "many", Pool(lambda number: Here(), workers)) == one
    assert len(set(one)) == SETTINGS.generations


@pytest.mark.parametrize("call", range(2, 9))
def test_a_worker_lost_at_any_call_is_replaced(tmp_path, call):
    one = digests(tmp_path / "one", Worker(Line()))
    taken = []

    def take(number):
        taken.append(number)
        return Here(falls=[call] if len(taken) == 2 else [])

    assert digests(tmp_path / "two", Pool(take, 2)) == one
    assert taken == [0, 1, 1]


def test_after_going_on_from_a_checkpoint_a_new_worker_catches_up_from_there(tmp_path):
    one = digests(tmp_path / "one", Worker(Line()))
    taken = []

    def take(number):
        taken.append(number)
        return Here(falls=[5] if len(taken) == 1 else [])

    again = digests(tmp_path / "one", Pool(take, 2), resume=True, from_checkpoint=2)
    assert again == one
    assert taken == [0, 1, 0]


def test_workers_that_part_are_noticed_before_anything_is_done():
    with pytest.raises(MetacogError, match="weights of the workers differ"):
        Pool(lambda number: Here(Line(begin=float(number))), 2)


@pytest.mark.parametrize(
    "error", [StudyError("no such thing"), OSError(errno.ENOSPC, "No space left on device", "a/file")]
)
def test_what_goes_wrong_in_a_worker_is_told_as_what_it_is(error):
    def fail(*given):
        raise error

    served = Served()
    served._worker = SimpleNamespace(digest=fail)
    with pytest.raises(type(error)) as told:
        returned(pickle.loads(pickle.dumps(served.call("digest", ()))))
    assert str(told.value) == str(error)


def test_a_worker_that_is_always_lost_ends_the_run():
    with pytest.raises(MetacogError, match="worker 1 of 2 was lost 4 times"):
        Pool(lambda number: Here(falls=range(99) if number == 0 else ()), 2)
