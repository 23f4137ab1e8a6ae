"""litellm."""

import os

# It would look for prices and tokenizers elsewhere.
os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", HF_HUB_OFFLINE="1")

from suite import *

# snippet
import litellm

AT = {"model": f"openai/{MODEL}", "api_base": BASE_URL, "api_key": API_KEY}


def whole():
    return litellm.completion(messages=MESSAGES, **AT).receipt


def streamed():
    # Its chunks drop members that it does not know; the header of the stream has the receipt's id.
    stream = litellm.completion(messages=MESSAGES, stream=True, **AT)
    for chunk in stream:
        pass
    return stored_receipt(stream._response_headers["x-receipt-id"])


# end


@check("chat")
def _():
    completion = litellm.completion(messages=MESSAGES, **AT)
    expect(completion.choices[0].message.content, "no text")
    expect(completion.usage.completion_tokens > 0, "no usage")


@check("stream")
def _():
    options = {"include_usage": True}
    chunks = list(
        litellm.completion(messages=MESSAGES, stream=True, stream_options=options, **AT)
    )
    expect("".join(c.choices[0].delta.content or "" for c in chunks if c.choices), "no text")
    expect(getattr(chunks[-1], "usage", None), "no usage")


@check("counts")
def _():
    def counts(usage):
        return usage.prompt_tokens, usage.completion_tokens

    completion = litellm.completion(messages=MESSAGES, **AT)
    expect_counts(counts(completion.usage), completion.receipt)
    options = {"include_usage": True}
    stream = litellm.completion(messages=MESSAGES, stream=True, stream_options=options, **AT)
    total = litellm.stream_chunk_builder(list(stream))
    expect_counts(counts(total.usage), stored_receipt(stream._response_headers["x-receipt-id"]))


@check("tools")
def _():
    completion = litellm.completion(
        messages=MESSAGES, tools=[WEATHER], tool_choice="required", **AT
    )
    call = completion.choices[0].message.tool_calls[0]
    expect("city" in json.loads(call.function.arguments), "arguments")


@check("structured output")
def _():
    completion = litellm.completion(
        messages=MESSAGES,
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "place", "strict": True, "schema": CITY},
        },
        **AT,
    )
    expect("city" in json.loads(completion.choices[0].message.content), "not of the schema")


@check("embeddings")
def _():
    for encoding in ["float", "base64"]:
        found = litellm.embedding(
            **{**AT, "model": f"openai/{EMBEDDING_MODEL}"},
            input=[QUESTION],
            encoding_format=encoding,
        )
        vector = found.data[0]["embedding"]
        # It hands base64 on as text, undecoded: 4,096 bytes.
        expect(len(vector) == (1024 if encoding == "float" else 5464), f"{encoding}: {len(vector)}")


@check("errors")
def _():
    try:
        litellm.completion(messages=MESSAGES, **{**AT, "model": "openai/none"}, num_retries=0)
    except litellm.BadRequestError:
        pass
    else:
        raise AssertionError("nothing was raised")
    try:
        litellm.completion(messages=MESSAGES, **{**AT, "api_key": "nonsense"})
    except litellm.AuthenticationError:
        return
    raise AssertionError("nothing was raised")


@check("over the window")
def _():
    small = {**AT, "model": f"openai/{SMALL_MODEL}"}
    long = [{"role": "user", "content": OVER_ITS_WINDOW}]
    expect_refused(
        litellm.ContextWindowExceededError,
        lambda: litellm.completion(messages=long, **small),
        lambda: list(litellm.completion(messages=long, stream=True, **small)),
        lambda: litellm.responses(input=OVER_ITS_WINDOW, **small),
    )


@check("timeout")
def _():
    try:
        litellm.completion(
            messages=MESSAGES, timeout=0.5, max_retries=0, extra_body=fault("stall=20000"), **AT
        )
    except litellm.Timeout:
        return
    raise AssertionError("nothing was raised")


@check("receipt")
def _():
    return whole()


@check("receipt of a stream")
def _():
    return streamed()


@check("responses")
def _():
    response = litellm.responses(input=QUESTION, **AT)
    expect(response.output, "no output")
