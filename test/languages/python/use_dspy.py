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


@check("receipt")
def _():
    return whole()
