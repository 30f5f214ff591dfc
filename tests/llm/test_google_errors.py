"""Google's errors are read alike at its own address and in OpenAI's format, wrapped in a list or not."""

import json

import pytest

from metacog_pipeline.llm.types import ErrorKind, Status
from tests.llm.replies import read
from tests.tables import every

SERVED = ("openai", "gemini")
INFO = "type.googleapis.com/google.rpc."
KEY = {
    "code": 400,
    "message": "API key not valid. Please pass a valid API key.",
    "status": "INVALID_ARGUMENT",
    "details": [{"@type": INFO + "ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}],
}
DAILY = {
    "code": 429,
    "message": "You exceeded your current quota",
    "status": "RESOURCE_EXHAUSTED",
    "details": [
        {"@type": INFO + "QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerModel"}]}
    ],
}
FIELD = {
    "code": 400,
    "message": "Invalid value",
    "status": "INVALID_ARGUMENT",
    "details": [
        {
            "@type": INFO + "BadRequest",
            "fieldViolations": [{"field": "generation_config.max_output_tokens"}],
        }
    ],
}


@pytest.mark.parametrize("provider", SERVED)
@pytest.mark.parametrize("listed", [True, False])
@every(
    ("error", "kind", "code", "param"),
    [
        (KEY, ErrorKind.FATAL, "API_KEY_INVALID", None),
        (DAILY, ErrorKind.FATAL, "RESOURCE_EXHAUSTED", None),
        (DAILY | {"details": []}, ErrorKind.RATE_LIMIT, "RESOURCE_EXHAUSTED", None),
        (FIELD, ErrorKind.UNSUPPORTED, "INVALID_ARGUMENT", "max_tokens"),
        ({"code": 404, "message": "no such model", "status": "NOT_FOUND"}, ErrorKind.FATAL, "NOT_FOUND", None),
        ({"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}, ErrorKind.TRANSIENT, "UNAVAILABLE", None),
        ({"code": 400, "message": "no plan", "status": "FAILED_PRECONDITION"}, ErrorKind.FATAL, "FAILED_PRECONDITION",
         None),
    ],
)  # fmt: skip
def test_an_error_says_what_is_wrong(provider, listed, error, kind, code, param):
    body = json.dumps([{"error": error}] if listed else {"error": error}).encode()
    completion = read(provider, body, error["code"])
    assert (completion.status, completion.error_kind) == (Status.FAILED, kind)
    assert (completion.error_code, completion.error_param) == (code, param)
    assert completion.error_message == error["message"]
    behind = read(provider, body, 200)  # a proxy that claims success
    assert (behind.status, behind.error_kind, behind.http_status) == (Status.FAILED, kind, error["code"])


@pytest.mark.parametrize("provider", SERVED)
def test_an_error_in_a_list_inside_a_stream_is_that_error(provider):
    completion = read(provider, [json.dumps([{"error": KEY}])])
    assert (completion.error_kind, completion.error_code) == (ErrorKind.FATAL, "API_KEY_INVALID")


@every("param", ["None", "null", "", " "])
def test_a_parameter_of_no_name_is_none(param):
    body = {"error": {"message": "no", "type": "invalid_request_error", "param": param, "code": None}}
    assert read("openai", body, 400).error_param is None
