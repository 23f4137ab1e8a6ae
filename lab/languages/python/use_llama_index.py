"""llama-index."""

from suite import *

# snippet
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

llm = OpenAILike(
    model=MODEL, api_base=BASE_URL, api_key=API_KEY, is_chat_model=True, context_window=8192
)
messages = [ChatMessage(role="user", content=QUESTION)]


def whole():
    return llm.chat(messages).raw.receipt


def streamed():
    receipt = None
    for part in llm.stream_chat(messages):
        receipt = getattr(part.raw, "receipt", receipt)
    return receipt


# end


@check("chat")
def _():
    reply = llm.chat(messages)
    expect(reply.message.content and reply.raw.usage.completion_tokens > 0, "text and usage")


@check("stream")
def _():
    expect("".join(part.delta or "" for part in llm.stream_chat(messages)), "no text")


@check("receipt")
def _():
    return whole()


@check("receipt of a stream")
def _():
    return streamed()
