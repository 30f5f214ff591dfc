"""A batch under way holds no run: its partition ends as waiting, and the sensor goes on with it when it has ended."""

import time
from typing import Any

from dagster import AssetKey, SensorResult, SkipReason, build_sensor_context

from metacog_assets.sensors import batches_ended
from metacog_pipeline.asking import batches
from metacog_pipeline.asking.session import WAITING
from metacog_pipeline.transcripts.store import PartitionFolder, read_manifest
from tests.assets.conftest import model
from tests.simulated_server import ServerThread


def tick(bench: Any) -> SensorResult | SkipReason:
    with build_sensor_context(instance=bench.instance) as context:
        found = batches_ended(context)
    assert isinstance(found, SensorResult | SkipReason)
    return found


def test_a_partition_in_a_batch_ends_as_waiting_and_the_sensor_goes_on_with_it(bench, monkeypatch):
    with ServerThread(lambda name, request: "Answer: A\nConfidence: 3") as server:
        assert isinstance(tick(bench), SkipReason), "a home without batches"
        bench.write(model("first", base_url=f"{server.url}/v1", lane="batch"))
        server.provider.batches.use(delay_s=3600)
        assert bench.launch() == WAITING
        state = read_manifest(PartitionFolder(bench.home, "metamedqa", "first", 1))
        assert state is not None and state["state"] == "waiting"
        asked = bench.instance.get_latest_materialization_event(AssetKey(["metamedqa", "transcripts"]))
        assert asked is None, "a partition that waits is not there yet"
        assert isinstance(tick(bench), SkipReason), "nothing has ended"
        server.provider.batches.use()
        time.sleep(0.5)
        found = tick(bench)
        assert isinstance(found, SensorResult) and found.run_requests is not None
        (request,) = found.run_requests
        assert request.asset_selection == [AssetKey(["metamedqa", "transcripts"])]
        assert str(request.partition_key) == "first|1"
        assert [again.run_key for again in (tick(bench).run_requests or [])] == [request.run_key]
        assert bench.launch() == 0
        assert isinstance(tick(bench), SkipReason)
        state = read_manifest(PartitionFolder(bench.home, "metamedqa", "first", 1))
        assert state is not None and state["state"] == "complete"
        assert len(server.provider.batches.taken) == 1


def test_a_batch_of_a_run_that_the_study_asks_no_more_starts_nothing(bench, monkeypatch):
    with ServerThread(lambda name, request: "Answer: A\nConfidence: 3") as server:
        bench.write(model("first", base_url=f"{server.url}/v1", lane="batch"))
        server.provider.batches.use(delay_s=0.2)
        assert bench.launch() == WAITING
        time.sleep(0.5)
        assert isinstance(tick(bench), SensorResult)
        above = PartitionFolder(bench.home, "metamedqa", "first", 7)  # as after study.runs was cut down
        monkeypatch.setattr(batches, "folder_of", lambda study, batch: above)
        assert isinstance(tick(bench), SkipReason), "it could only fail, again and again"
