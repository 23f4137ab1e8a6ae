"""Haystack: its agent, which streams."""

import os
import sys

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool

from files import read_file, write_file

agent = Agent(
    chat_generator=OpenAIChatGenerator(
        model=os.environ["MODEL"], api_base_url=os.environ["OPENAI_BASE_URL"]
    ),
    tools=[tool(write_file), tool(read_file)],
    streaming_callback=lambda chunk: print(chunk.content, end=""),
)
agent.run(messages=[ChatMessage.from_user(sys.argv[1])])
