"""Goes on with the partitions whose batches have ended: no run stays while a provider works on a batch."""

from __future__ import annotations

import dagster as dg

from metacog_assets.partitions import MODELS
from metacog_assets.study_file import current_study
from metacog_pipeline.asking import batches
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.llm.batch.records import Batch
from metacog_pipeline.study import Study

EVERY_S = 120  # a batch takes minutes to hours


@dg.sensor(
    job_name="ask",
    minimum_interval_seconds=EVERY_S,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Goes on with partitions whose batches have ended; what follows from their answers is asked then.",
)
def batches_ended(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Start a run for each partition whose batches have ended; it asks what follows from their answers."""
    try:
        study = current_study()
        ended = batches.ended(study)
    except MetacogError as error:
        return dg.SkipReason(str(error))
    known = set(context.instance.get_dynamic_partitions(str(MODELS.name)))
    requests = {each.run_key: each for batch in ended if (each := _request(study, batch, known)) is not None}
    if not requests:
        return dg.SkipReason("no batch has ended")
    return dg.SensorResult(run_requests=list(requests.values()))


def _request(study: Study, batch: Batch, known: set[str]) -> dg.RunRequest | None:
    """Return the run that goes on with a batch; None where the study asks for its partition no more."""
    kept = batches.folder_of(study, batch)
    benchmark = batches.asked_of(study, kept)
    if benchmark not in study.enabled or kept.model not in known or kept.run not in study.runs:
        return None
    asset = dg.AssetKey(f"{benchmark}_{'transcripts' if kept.benchmark == benchmark else 'judgements'}")
    record = batch.record
    return dg.RunRequest(
        run_key=f"{record.mark}:{record.state}:{record.tries}",
        asset_selection=[asset],
        partition_key=dg.MultiPartitionKey({"model": kept.model, "run": str(kept.run)}),
        tags={"metacog/batch": record.mark},
    )
