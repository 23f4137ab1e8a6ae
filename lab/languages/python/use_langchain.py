"""langchain-openai."""

import openai
from langchain_core.exceptions import ContextOverflowError
from pydantic import BaseModel

from suite import *

# snippet
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

# Its messages drop members that it does not know, so the receipt is fetched by the id in the headers.
model = ChatOpenAI(model=MODEL, base_url=BASE_URL, api_key=API_KEY, include_response_headers=True)


def whole():
    message = model.invoke(QUESTION)
    return stored_receipt(message.response_metadata["headers"]["x-receipt-id"])


def streamed():
    headers = {}
    for chunk in model.stream(QUESTION):
        headers = chunk.response_metadata.get("headers", headers)
    return stored_receipt(headers["x-receipt-id"])


# end


class Place(BaseModel):
    """Where it is."""

    city: str


@check("chat")
def _():
    message = model.invoke(QUESTION)
    expect(message.content and message.usage_metadata["output_tokens"] > 0, "text and usage")


@check("stream")
def _():
    chunks = list(
        ChatOpenAI(
            model=MODEL, base_url=BASE_URL, api_key=API_KEY, stream_usage=True
        ).stream(QUESTION)
    )
    expect("".join(chunk.content for chunk in chunks), "no text")
    expect(any(chunk.usage_metadata for chunk in chunks), "no usage")


@check("counts")
def _():
    def counts(usage):
        return usage["input_tokens"], usage["output_tokens"]

    # It adds up what the chunks say.
    chunks = iter(model.stream(QUESTION, stream_usage=True))
    for message in [model.invoke(QUESTION), sum(chunks, start=next(chunks))]:
        receipt = stored_receipt(message.response_metadata["headers"]["x-receipt-id"])
        expect_counts(counts(message.usage_metadata), receipt)


@check("tools")
def _():
    message = model.bind_tools([WEATHER], tool_choice="any").invoke(QUESTION)
    expect("city" in message.tool_calls[0]["args"], "arguments")


@check("structured output")
def _():
    expect(isinstance(model.with_structured_output(Place).invoke(QUESTION), Place), "not parsed")


@check("embeddings")
def _():
    embeddings = OpenAIEmbeddings(
        model=EMBEDDING_MODEL,
        base_url=BASE_URL,
        api_key=API_KEY,
        check_embedding_ctx_length=False,
    )
    expect(len(embeddings.embed_query(QUESTION)) == 1024, "values")


@check("errors")
def _():
    try:
        ChatOpenAI(model="none", base_url=BASE_URL, api_key=API_KEY).invoke(QUESTION)
    except openai.BadRequestError as error:
        expect(error.code == "invalid_model", error.code)
        return
    raise AssertionError("nothing was raised")


@check("over the window")
def _():
    small = ChatOpenAI(model=SMALL_MODEL, base_url=BASE_URL, api_key=API_KEY)
    speaker = ChatOpenAI(
        model=SMALL_MODEL, base_url=BASE_URL, api_key=API_KEY, use_responses_api=True
    )
    expect_refused(
        ContextOverflowError,
        lambda: small.invoke(OVER_ITS_WINDOW),
        lambda: list(small.stream(OVER_ITS_WINDOW)),
        lambda: speaker.invoke(OVER_ITS_WINDOW),
        lambda: list(speaker.stream(OVER_ITS_WINDOW)),
    )


@check("receipt")
def _():
    return whole()


@check("receipt of a stream")
def _():
    return streamed()


@check("responses")
def _():
    other = ChatOpenAI(
        model=MODEL, base_url=BASE_URL, api_key=API_KEY, use_responses_api=True
    )
    expect(other.invoke(QUESTION).text, "no text")
    expect("".join(str(chunk.text) for chunk in other.stream(QUESTION)), "no streamed text")
