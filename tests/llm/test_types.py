"""The rules of an object's properties are read from any schema."""

import json

from metacog_pipeline.llm.types import JsonObject


def test_the_properties_of_an_object_come_in_the_order_of_its_schema():
    rules = {"b": {"type": "string"}, "a": {"enum": [1, 2]}}
    found = JsonObject("n", json.dumps({"type": "object", "properties": rules})).properties
    assert list(found.items()) == list(rules.items())
