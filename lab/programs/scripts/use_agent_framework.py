"""Microsoft's Agent Framework: an agent with functions as its tools."""

import asyncio
import os
import sys

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient

from files import read_file, write_file

agent = Agent(
    client=OpenAIChatClient(model=os.environ["MODEL"]), tools=[write_file, read_file]
)
print(asyncio.run(agent.run(sys.argv[1])).text)
