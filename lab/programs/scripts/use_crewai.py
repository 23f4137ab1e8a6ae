"""CrewAI: one agent with one task."""

import os
import sys

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

from files import read_file, write_file

keeper = Agent(
    role="Keeper",
    goal="Do as asked",
    backstory="Keeps a lighthouse.",
    llm=LLM(model=f"openai/{os.environ['MODEL']}", base_url=os.environ["OPENAI_BASE_URL"]),
    tools=[tool("write_file")(write_file), tool("read_file")(read_file)],
)
task = Task(description=sys.argv[1], expected_output="An answer", agent=keeper)
print(Crew(agents=[keeper], tasks=[task]).kickoff())
