"""smolagents: its agent that calls tools."""

import os
import sys

from smolagents import OpenAIModel, ToolCallingAgent, tool

from files import read_file, write_file

model = OpenAIModel(
    os.environ["MODEL"],
    api_base=os.environ["OPENAI_BASE_URL"],
    api_key=os.environ["OPENAI_API_KEY"],
)
agent = ToolCallingAgent(tools=[tool(write_file), tool(read_file)], model=model)
print(agent.run(sys.argv[1]))
