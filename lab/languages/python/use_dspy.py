"""dspy."""

import os

# Its own cache would answer in place of the service; the library beneath it would look for prices elsewhere.
os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", HF_HUB_OFFLINE="1")

from suite import *

# snippet
import dspy

lm = dspy.LM(f"openai/{MODEL}", api_base=BASE_URL, api_key=API_KEY, cache=False)


def whole():
    lm(QUESTION)
    return lm.history[-1]["response"].provider_data["receipt"]


async def streamed():
    asked = dspy.streamify(dspy.Predict("question -> city"))
    async for part in asked(question=QUESTION):
        pass
    return dspy.settings.lm.history[-1]["response"].provider_data["receipt"]


# end


def answering_with(schema):
    """It does not know that the model keeps to schemas, and so asks for one only when it is told."""
    form = {"type": "json_schema", "json_schema": {"name": "it", "strict": True, "schema": schema}}
    return dspy.context(lm=lm.copy(response_format=form), adapter=dspy.JSONAdapter())


@check("chat")
def _():
    expect(lm(QUESTION)[0], "no text")
    expect(lm.history[-1]["usage"]["completion_tokens"] > 0, "no usage")


@check("stream")
async def _():
    with answering_with(CITY):
        asked = dspy.streamify(
            dspy.Predict("question -> city"),
            stream_listeners=[dspy.streaming.StreamListener(signature_field_name="city")],
        )
        parts = [part async for part in asked(question=QUESTION)]
    expect(isinstance(parts[-1], dspy.Prediction) and parts[-1].city, repr(parts[-1]))
    expect(len(parts) > 1, "not streamed")


@check("tools")
def _():
    call = lm(QUESTION, tools=[WEATHER], tool_choice="required")[0]["tool_calls"][0]
    expect("city" in json.loads(call["function"]["arguments"]), "arguments")


@check("structured output")
def _():
    with answering_with(CITY):
        expect(dspy.Predict("question -> city")(question=QUESTION).city, "no city")


@check("embeddings")
def _():
    embedder = dspy.Embedder(
        f"openai/{EMBEDDING_MODEL}", api_base=BASE_URL, api_key=API_KEY, caching=False
    )
    expect(embedder([QUESTION]).shape == (1, 1024), "values")


@check("errors")
def _():
    other = dspy.LM("openai/none", api_base=BASE_URL, api_key=API_KEY, cache=False, num_retries=0)
    try:
        other(QUESTION)
    except Exception as error:
        expect("is not known" in str(error) or "invalid_model" in repr(error), str(error))
        return type(error).__name__
    raise AssertionError("nothing was raised")


@check("retries")
def _():
    """It does not show how often it asked: what fails without retries is answered with them."""

    def ask(num_retries):
        faulty = fault("status=500; fail-first=2; id=ID") | {"region": "eu-west"}
        return lm.copy(num_retries=num_retries, extra_body=faulty)(QUESTION)

    try:
        ask(0)
    except dspy.LMServerError:
        expect(ask(3)[0], "no text")
        return
    raise AssertionError("nothing was raised")


@check("timeout")
def _():
    try:
        lm.copy(num_retries=0, timeout=0.5, extra_body=fault("stall=20000"))(QUESTION)
    except dspy.LMTimeoutError:
        return
    raise AssertionError("nothing was raised")


@check("cancellation")
async def _():
    begun = time.time()
    slow = dspy.LM(
        f"openai/{OTHER_MODEL}",
        api_base=BASE_URL,
        api_key=API_KEY,
        cache=False,
        max_tokens=500,
        extra_body=fault("pace=5"),
    )
    first = asyncio.Event()

    async def read():
        async for part in dspy.streamify(dspy.Predict("question -> answer"))(question=QUESTION):
            first.set()

    with dspy.context(lm=slow):
        reading = asyncio.create_task(read())
    await asyncio.wait_for(first.wait(), 30)
    reading.cancel()
    await asyncio.wait([reading], timeout=30)
    outcome = receipt_since(begun, OTHER_MODEL)["credentialSubject"]["outcome"]
    expect(outcome == "partial", outcome)


@check("responses")
def _():
    speaker = lm.copy(model_type="responses")
    expect(speaker(QUESTION)[0]["text"], "no text")
    return speaker.history[-1]["response"].provider_data["receipt"]


@check("asynchronous")
async def _():
    expect((await lm.acall(QUESTION))[0], "no text")
    return lm.history[-1]["response"].provider_data["receipt"]


@check("receipt")
def _():
    return whole()


@check("receipt of a stream")
async def _():
    with answering_with(CITY):
        return await streamed()
