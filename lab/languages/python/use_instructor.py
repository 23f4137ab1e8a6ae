"""instructor."""

from openai import OpenAI
from pydantic import BaseModel

from suite import *


class Place(BaseModel):
    city: str


# snippet
import instructor

client = instructor.from_openai(OpenAI(base_url=BASE_URL, api_key=API_KEY))


def whole():
    place, completion = client.chat.completions.create_with_completion(
        model=MODEL, messages=MESSAGES, response_model=Place
    )
    return completion.receipt


# end


@check("structured output")
def _():
    place = client.chat.completions.create(model=MODEL, messages=MESSAGES, response_model=Place)
    expect(isinstance(place, Place), "not parsed")


@check("tools")
def _():
    strict = instructor.from_openai(
        OpenAI(base_url=BASE_URL, api_key=API_KEY), mode=instructor.Mode.TOOLS
    )
    place = strict.chat.completions.create(model=MODEL, messages=MESSAGES, response_model=Place)
    expect(isinstance(place, Place), "not parsed")


@check("stream")
def _():
    parts = list(
        client.chat.completions.create_partial(
            model=MODEL, messages=MESSAGES, response_model=Place
        )
    )
    expect(parts and parts[-1].city is not None, "nothing")


@check("receipt")
def _():
    return whole()
