"""Anthropic's SDK: its tool runner, which streams, with the helper that puts a stream together."""

import os
import sys

from anthropic import Anthropic, beta_tool

from files import read_file, write_file

runner = Anthropic().beta.messages.tool_runner(
    model=os.environ["MODEL"],
    max_tokens=1000,
    messages=[{"role": "user", "content": sys.argv[1]}],
    tools=[beta_tool(write_file), beta_tool(read_file)],
    stream=True,
)
for stream in runner:
    for event in stream:
        pass
    for block in stream.get_final_message().content:
        if block.type == "text":
            print(block.text)
