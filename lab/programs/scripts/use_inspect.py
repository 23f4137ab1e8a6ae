"""Inspect: an evaluation of one sample, whose solver calls tools until the model answers."""

import os
import sys

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool

import files


@tool
def write_file():
    async def execute(path: str, content: str) -> str:
        return files.write_file(path, content)

    execute.__doc__ = files.write_file.__doc__
    return execute


@tool
def read_file():
    async def execute(path: str) -> str:
        return files.read_file(path)

    execute.__doc__ = files.read_file.__doc__
    return execute


task = Task(
    dataset=[Sample(input=sys.argv[1])], solver=[use_tools(write_file(), read_file()), generate()]
)
[log] = eval(task, model=f"openai/{os.environ['MODEL']}", display="plain")
for sample in log.samples or []:
    print(sample.output.completion)
