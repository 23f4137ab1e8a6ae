"""llm."""

import os
import tempfile

# Its settings and its log are files of the user's.
os.environ["LLM_USER_PATH"] = tempfile.mkdtemp()

import llm
import openai

from suite import *

# snippet
from llm.default_plugins.openai_models import Chat

model = Chat(
    "docket", model_name=MODEL, api_base=BASE_URL, supports_tools=True, supports_schema=True
)
model.key = API_KEY


def whole():
    response = model.prompt(QUESTION, stream=False)
    response.text()
    return response.response_json["receipt"]


def streamed():
    # Of a stream it keeps the answer's own id, by which the receipt can be fetched.
    response = model.prompt(QUESTION)
    for part in response:
        pass
    return stored_receipt(response.response_json["id"])


# end


@check("chat")
def _():
    response = model.prompt(QUESTION, stream=False)
    expect(response.text(), "no text")
    expect(response.usage().output > 0, "no usage")


@check("stream")
def _():
    response = model.prompt(QUESTION)
    expect("".join(response), "no text")
    expect(response.usage().output > 0, "no usage")


@check("tools")
def _():
    weather = llm.Tool(name="get_weather", description="The weather", input_schema=CITY)
    # The sandbox calls a tool when the question names it.
    response = model.prompt("get_weather for Reykjavik", tools=[weather], stream=False)
    calls = response.tool_calls()
    expect(calls and "city" in calls[0].arguments, f"{calls} {response.text()}")


@check("structured output")
def _():
    response = model.prompt(QUESTION, schema=CITY, stream=False)
    expect("city" in json.loads(response.text()), "not of the schema")


@check("errors")
def _():
    for name, key, kind in [
        ("none", API_KEY, openai.BadRequestError),
        (MODEL, "nonsense", openai.AuthenticationError),
    ]:
        other = Chat("other", model_name=name, api_base=BASE_URL)
        other.key = key
        try:
            other.prompt(QUESTION, stream=False).text()
        except kind:
            continue
        raise AssertionError(f"{kind.__name__} was not raised")


@check("receipt")
def _():
    return whole()


@check("receipt of a stream")
def _():
    return streamed()


@check("asynchronous")
async def _():
    from llm.default_plugins.openai_models import AsyncChat

    other = AsyncChat("docket", model_name=MODEL, api_base=BASE_URL)
    response = other.prompt(QUESTION, stream=False, key=API_KEY)
    expect(await response.text(), "no text")
    return response.response_json["receipt"]


@check("responses")
def _():
    from llm.default_plugins.openai_models import Responses

    other = Responses("docket", model_name=MODEL, api_base=BASE_URL)
    response = other.prompt(QUESTION, stream=False, key=API_KEY)
    expect(response.text(), "no text")
    return response.response_json["receipt"]
