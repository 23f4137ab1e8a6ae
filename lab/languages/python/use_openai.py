"""openai, synchronous and asynchronous."""

import httpx2
import openai
from pydantic import BaseModel

from suite import *

# snippet
from openai import OpenAI

client = OpenAI(base_url=BASE_URL, api_key=API_KEY)


def whole():
    completion = client.chat.completions.create(model=MODEL, messages=MESSAGES)
    return completion.receipt


def streamed():
    receipt = None
    for chunk in client.chat.completions.create(model=MODEL, messages=MESSAGES, stream=True):
        receipt = getattr(chunk, "receipt", receipt)
    return receipt


# end


class Place(BaseModel):
    city: str


attempts = []
counting = OpenAI(
    base_url=BASE_URL,
    api_key=API_KEY,
    http_client=httpx2.Client(
        event_hooks={"response": [lambda response: attempts.append(response.status_code)]}
    ),
)
aclient = openai.AsyncOpenAI(base_url=BASE_URL, api_key=API_KEY)


def raised(call):
    try:
        call()
    except openai.APIError as error:
        return error
    raise AssertionError("nothing was raised")


@check("chat")
def _():
    completion = client.chat.completions.create(model=MODEL, messages=MESSAGES)
    expect(completion.choices[0].message.content, "no text")
    expect(completion.usage.completion_tokens > 0, "no usage")
    expect(completion.model == MODEL, completion.model)


@check("stream")
def _():
    options = {"include_usage": True}
    chunks = list(
        client.chat.completions.create(
            model=MODEL, messages=MESSAGES, stream=True, stream_options=options
        )
    )
    expect("".join(c.choices[0].delta.content or "" for c in chunks if c.choices), "no text")
    expect(chunks[-1].usage.completion_tokens > 0, "no usage")


@check("counts")
def _():
    def counts(usage):
        return usage.prompt_tokens, usage.completion_tokens

    completion = client.chat.completions.create(model=MODEL, messages=MESSAGES)
    expect_counts(counts(completion.usage), completion.receipt)
    options = {"include_usage": True}
    chunks = list(
        client.chat.completions.create(
            model=MODEL, messages=MESSAGES, stream=True, stream_options=options
        )
    )
    told = [chunk.usage for chunk in chunks if chunk.usage]
    expect(len(told) == 1, f"usage {len(told)} times")
    expect_counts(counts(told[0]), stored_receipt(chunks[0].id))


@check("tools")
def _():
    completion = client.chat.completions.create(
        model=MODEL, messages=MESSAGES, tools=[WEATHER], tool_choice="required"
    )
    call = completion.choices[0].message.tool_calls[0]
    expect("city" in json.loads(call.function.arguments), "arguments")


@check("structured output")
def _():
    parsed = client.chat.completions.parse(
        model=MODEL, messages=MESSAGES, response_format=Place
    )
    expect(isinstance(parsed.choices[0].message.parsed, Place), "not parsed")


@check("embeddings")
def _():
    default = client.embeddings.create(model=EMBEDDING_MODEL, input=QUESTION).data[0].embedding
    floats = client.embeddings.create(
        model=EMBEDDING_MODEL, input=QUESTION, encoding_format="float"
    )
    expect(len(default) == 1024, f"{len(default)} values")
    near = zip(default, floats.data[0].embedding, strict=True)
    expect(all(abs(a - b) < 1e-6 for a, b in near), "base64 and float differ")


@check("errors")
def _():
    def ask(**rest):
        rest.setdefault("model", MODEL)
        return raised(
            lambda: client.with_options(max_retries=0).chat.completions.create(
                messages=MESSAGES, **rest
            )
        )

    expect(isinstance(ask(temperature=3), openai.BadRequestError), "400")
    error = ask(model="none")
    expect(isinstance(error, openai.BadRequestError) and error.code == "invalid_model", "code")
    expect(error.request_id.startswith("req_"), "request id")
    wrong = client.with_options(api_key="nonsense", max_retries=0)
    expect(isinstance(raised(lambda: wrong.models.list()), openai.AuthenticationError), "401")
    expect(isinstance(raised(lambda: client.models.retrieve("none")), openai.NotFoundError), "404")


@check("over the window")
def _():
    """It has no class for it; the code and the words are what programs look for."""
    long = [{"role": "user", "content": OVER_ITS_WINDOW}]
    for stream in [False, True]:
        error = raised(
            lambda: client.chat.completions.create(model=SMALL_MODEL, messages=long, stream=stream)
        )
        expect(isinstance(error, openai.BadRequestError), type(error).__name__)
        expect(error.code == "prompt_too_long", error.code)
        expect("maximum context length is 4096 tokens" in error.message, error.message)


@check("retries")
def _():
    def statuses(call):
        attempts.clear()
        call()
        return list(attempts)

    def ask(**rest):
        return counting.chat.completions.create(messages=MESSAGES, **{"model": MODEL, **rest})

    repeated = statuses(lambda: ask(extra_body=fault("status=500; fail-first=2; id=ID") | {"region": "eu-west"}))
    expect(repeated == [502, 200], f"502: {repeated}")
    refused = statuses(lambda: raised(lambda: ask(model="none")))
    expect(refused == [400], f"400: {refused}")
    closed = statuses(lambda: raised(lambda: ask(extra_body={"region": "ap-south"})))
    expect(closed == [503], f"a region that does not serve: {closed}")


@check("timeout")
def _():
    hurried = client.with_options(timeout=0.5, max_retries=0)
    error = raised(
        lambda: hurried.chat.completions.create(
            model=MODEL, messages=MESSAGES, extra_body=fault("stall=20000")
        )
    )
    expect(isinstance(error, openai.APITimeoutError), type(error).__name__)


@check("cancellation")
def _():
    with client.chat.completions.create(
        model=MODEL, messages=MESSAGES, stream=True, max_tokens=500, extra_body=fault("pace=5")
    ) as stream:
        receipt_id = stream.response.headers["x-receipt-id"]
        next(iter(stream))
    outcome = stored_receipt(receipt_id)["credentialSubject"]["outcome"]
    expect(outcome == "partial", outcome)


@check("receipt")
def _():
    return whole()


@check("receipt of a stream")
def _():
    return streamed()


@check("responses")
def _():
    response = client.responses.create(model=MODEL, input=QUESTION)
    expect(response.output_text, "no text")
    events = list(client.responses.create(model=MODEL, input=QUESTION, stream=True))
    # The sandbox may come to the end of its tokens.
    expect(events[-1].type in ("response.completed", "response.incomplete"), events[-1].type)
    return events[-1].receipt


@check("asynchronous")
async def _():
    completion = await aclient.chat.completions.create(model=MODEL, messages=MESSAGES)
    expect(completion.receipt["id"], "no receipt")
    receipt = None
    async for chunk in await aclient.chat.completions.create(
        model=MODEL, messages=MESSAGES, stream=True
    ):
        receipt = getattr(chunk, "receipt", receipt)
    vectors = await aclient.embeddings.create(model=EMBEDDING_MODEL, input=[QUESTION, "Hello"])
    expect([len(one.embedding) for one in vectors.data] == [1024, 1024], "vectors")
    return receipt
