"""Items come back as they were written."""

from typing import Annotated, Any

from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmark.schema import AsJson
from metacog_pipeline.home import Home
from metacog_pipeline.interchange.question import Question


def items(n, **changes):
    made = [Question(item_id=f"i{k}", dataset="own", task="t", question="Why?", kind="text", answer="so", position=k)
            for k in range(n)]  # fmt: skip
    return [made[0].model_copy(update=changes), *made[1:]] if changes else made


def test_items_are_read_as_written_and_again_when_the_file_changed(tmp_path):
    path = item_files.items_path(Home(tmp_path), "questions")
    made = items(30)
    item_files.write_rows(path, made, Question, "mark")
    taken = item_files.load_items(Home(tmp_path), "questions", Question)
    assert all(one == other for one, other in zip(taken, made, strict=True))
    assert item_files.read_rows(path, Question) == made
    item_files.write_rows(path, made, Question, "mark")
    other = tmp_path / "other.parquet"
    item_files.write_rows(other, items(30, answer="new"), Question, "mark")
    other.replace(path)
    assert item_files.load_items(Home(tmp_path), "questions", Question)[0].answer == "new"


class Told(Question):
    parts: Annotated[tuple[Any, ...], AsJson()]


def test_items_that_hold_what_only_json_tells_are_read_back(tmp_path):
    path = item_files.items_path(Home(tmp_path), "questions")
    made = [Told(**dict(items(1)[0]), parts=({"a": (1, 2)},))]
    item_files.write_rows(path, made, Told, "mark")
    assert item_files.load_items(Home(tmp_path), "questions", Told)[0].parts == ({"a": [1, 2]},)
