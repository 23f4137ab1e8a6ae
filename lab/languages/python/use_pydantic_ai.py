"""pydantic-ai."""

from pydantic import BaseModel
from pydantic_ai import Agent, ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from suite import *

provider = OpenAIProvider(base_url=BASE_URL, api_key=API_KEY)

# snippet
agent = Agent(OpenAIChatModel(MODEL, provider=provider))


def whole():
    # It shows the answer's own id, by which the receipt can be fetched.
    result = agent.run_sync(QUESTION)
    return stored_receipt(result.response.provider_response_id)


# end


class Place(BaseModel):
    city: str


@check("chat")
def _():
    result = agent.run_sync(QUESTION)
    expect(result.output, "no text")
    expect(result.response.usage.output_tokens > 0, "no usage")


@check("stream")
async def _():
    async with agent.run_stream(QUESTION) as result:
        text = [piece async for piece in result.stream_text(delta=True)]
    expect("".join(text), "no text")


@check("structured output")
def _():
    placing = Agent(OpenAIChatModel(MODEL, provider=provider), output_type=Place)
    expect(isinstance(placing.run_sync(QUESTION).output, Place), "not parsed")


@check("errors")
def _():
    try:
        Agent(OpenAIChatModel("none", provider=provider)).run_sync(QUESTION)
    except ModelHTTPError as error:
        expect(error.status_code == 400, error.status_code)
        return
    raise AssertionError("nothing was raised")


@check("receipt")
def _():
    return whole()


@check("receipt of a stream")
async def _():
    async with agent.run_stream(QUESTION) as result:
        async for _ in result.stream_text(delta=True):
            pass
    return stored_receipt(result.response.provider_response_id)


@check("responses")
def _():
    responding = Agent(OpenAIResponsesModel(MODEL, provider=provider))
    result = responding.run_sync(QUESTION)
    expect(result.output, "no text")
    return stored_receipt(result.response.provider_response_id)
