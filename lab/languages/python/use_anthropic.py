"""anthropic, synchronous and asynchronous."""

import anthropic

from suite import *

# snippet
from anthropic import Anthropic

# Without /v1: the client has that itself.
client = Anthropic(base_url=BASE_URL.removesuffix("/v1"), api_key=API_KEY)


def whole():
    message = client.messages.create(model=MODEL, max_tokens=200, messages=MESSAGES)
    return message.receipt


def streamed():
    # Of the helper `messages.stream`, whose events drop it, there is get_final_message().id: the receipt is fetched by that.
    asked = client.messages.create(model=MODEL, max_tokens=200, messages=MESSAGES, stream=True)
    for event in asked:
        if event.type == "message_stop":
            receipt = event.receipt
    return receipt


# end

aclient = anthropic.AsyncAnthropic(base_url=BASE_URL.removesuffix("/v1"), api_key=API_KEY)
ASKED = {"model": MODEL, "max_tokens": 200, "messages": MESSAGES}


def raised(call):
    try:
        call()
    except anthropic.APIError as error:
        return error
    raise AssertionError("nothing was raised")


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


@check("chat")
def _():
    message = client.messages.create(**ASKED)
    expect(text_of(message), "no text")
    expect(message.usage.output_tokens > 0, "no usage")
    expect(message.model == MODEL, message.model)


@check("stream")
def _():
    with client.messages.stream(**ASKED) as stream:
        text = "".join(stream.text_stream)
        expect(text and text == text_of(stream.get_final_message()), "no text")


@check("counts")
def _():
    def counts(usage):
        return usage.input_tokens, usage.output_tokens

    message = client.messages.create(**ASKED)
    expect_counts(counts(message.usage), message.receipt)
    with client.messages.stream(**ASKED) as stream:
        final = stream.get_final_message()
    expect_counts(counts(final.usage), stored_receipt(final.id))


@check("tools")
def _():
    function = WEATHER["function"]
    tool = {"name": function["name"], "description": "The weather", "input_schema": CITY}
    message = client.messages.create(**ASKED, tools=[tool], tool_choice={"type": "any"})
    call = next(block for block in message.content if block.type == "tool_use")
    expect("city" in call.input, "arguments")


@check("errors")
def _():
    def ask(by=client, **rest):
        return raised(lambda: by.with_options(max_retries=0).messages.create(**{**ASKED, **rest}))

    expect(isinstance(ask(extra_body={"temperature": 3}), anthropic.BadRequestError), "400")
    error = ask(model="none")
    expect(isinstance(error, anthropic.BadRequestError), type(error).__name__)
    expect(error.body["error"]["code"] == "invalid_model", "code")
    wrong = client.with_options(api_key="nonsense")
    expect(isinstance(ask(wrong), anthropic.AuthenticationError), "401")


@check("over the window")
def _():
    long = [{"role": "user", "content": OVER_ITS_WINDOW}]
    error = raised(lambda: client.messages.create(**{**ASKED, "model": SMALL_MODEL, "messages": long}))
    expect(isinstance(error, anthropic.BadRequestError), type(error).__name__)
    expect(error.body["error"]["code"] == "prompt_too_long", "code")


@check("receipt")
def _():
    return whole()


@check("receipt of a stream")
def _():
    return streamed()


@check("asynchronous")
async def _():
    message = await aclient.messages.create(**ASKED)
    expect(message.receipt["id"], "no receipt")
    receipt = None
    async for event in await aclient.messages.create(**ASKED, stream=True):
        if event.type == "message_stop":
            receipt = event.receipt
    return receipt
