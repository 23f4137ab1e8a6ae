"""What every client program has: where the service is, and how it says what it found: one JSON object per line."""

import asyncio
import inspect
import json
import os
import time
import urllib.error
import urllib.request
import uuid

BASE_URL = os.environ["DOCKET_BASE_URL"]
API_KEY = os.environ["DOCKET_API_KEY"]
MODEL = "llama-3.1-8b"
# For what no other check asks of it, where a receipt is looked for by the model.
OTHER_MODEL = "qwen3-30b-a3b"
EMBEDDING_MODEL = "bge-m3"
# Its window is 4,096 tokens.
SMALL_MODEL = "mixtral-8x7b"
OVER_ITS_WINDOW = "sea " * 5_000
QUESTION = "Tell me about the lighthouse."
MESSAGES = [{"role": "user", "content": QUESTION}]
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = {
    "type": "function",
    "function": {"name": "get_weather", "description": "The weather", "parameters": CITY},
}


class NotOffered(Exception):
    """The client has no such thing."""


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


def expect_counts(usage, receipt):
    """What the client says was used, input and output, is what the receipt says."""
    subject = receipt["credentialSubject"]
    counted = (subject["inputTokens"], subject["outputTokens"])
    expect(usage == counted, f"client {usage}, receipt {counted}")


def expect_refused(kind, *asked):
    """Each call is refused with an error of this class."""
    for ask in asked:
        try:
            ask()
        except kind:
            continue
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}") from error
        raise AssertionError("nothing was raised")


def check(name):
    """Runs the function at once, and reports under this name. A receipt that it returns is verified by who reads the report."""

    def run(function):
        found = {"check": name, "verdict": "works"}
        try:
            result = function()
            if inspect.isawaitable(result):
                result = asyncio.run(result)
            if isinstance(result, dict):
                found["receipt"] = result
            elif isinstance(result, str):
                found["words"] = result
        except NotOffered as reason:
            found.update(verdict="not offered", words=str(reason))
        except Exception as error:
            found.update(verdict="fails", words=f"{type(error).__name__}: {error}"[:300])
        print(json.dumps(found), flush=True)
        return function

    return run


def fault(text):
    """A fault of the sandbox, as a further field of the request's body."""
    return {"sandbox_fault": text.replace("ID", uuid.uuid4().hex)}


def stored_receipt(receipt_id):
    """The receipt as the service has it, once it has it."""
    return _awaited(f"/{receipt_id}", lambda reply: reply)


def receipt_since(epoch_seconds, model):
    """That of the one request of this model since then, for clients that show no id of an answer that they left."""
    return _awaited(
        f"?limit=1&model={model}&from={int(epoch_seconds)}", lambda reply: next(iter(reply["data"]), None)
    )


def _awaited(rest, receipt_in):
    end = time.monotonic() + 20
    while True:
        request = urllib.request.Request(
            f"{BASE_URL}/receipts{rest}", headers={"Authorization": f"Bearer {API_KEY}"}
        )
        try:
            with urllib.request.urlopen(request) as reply:
                if (receipt := receipt_in(json.load(reply))) is not None:
                    return receipt
        except urllib.error.HTTPError:
            if time.monotonic() > end:
                raise
        expect(time.monotonic() < end, "no receipt")
        time.sleep(0.1)
