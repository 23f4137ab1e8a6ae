"""openai-agents."""

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from pydantic import BaseModel

from suite import *

set_tracing_disabled(True)
client = AsyncOpenAI(base_url=BASE_URL, api_key=API_KEY)

# snippet
agent = Agent(
    name="keeper",
    model=OpenAIResponsesModel(model=MODEL, openai_client=client),
)


def whole():
    # It shows the answer's own id, by which the receipt can be fetched.
    result = Runner.run_sync(agent, QUESTION)
    return stored_receipt(result.last_response_id)


# end


class Place(BaseModel):
    city: str


@check("responses")
def _():
    result = Runner.run_sync(agent, QUESTION)
    expect(result.final_output, "no text")
    expect(result.raw_responses[0].usage.output_tokens > 0, "no usage")


@check("structured output")
def _():
    placing = Agent(
        name="placing", model=agent.model, output_type=Place
    )
    expect(isinstance(Runner.run_sync(placing, QUESTION).final_output, Place), "not parsed")


@check("chat")
def _():
    model = OpenAIChatCompletionsModel(model=MODEL, openai_client=client)
    expect(Runner.run_sync(Agent(name="old", model=model), QUESTION).final_output, "no text")


@check("receipt")
def _():
    return whole()


@check("stream")
async def _():
    # Connections belong to the event loop in which they were made.
    fresh = AsyncOpenAI(base_url=BASE_URL, api_key=API_KEY)
    model = OpenAIResponsesModel(model=MODEL, openai_client=fresh)
    result = Runner.run_streamed(Agent(name="streaming", model=model), QUESTION)
    kinds = [event.type async for event in result.stream_events()]
    expect("raw_response_event" in kinds and result.final_output, "no text")
