"""The evaluation harness of EleutherAI: a task of one question, which is here and not fetched."""

import json
import os
import sys
from pathlib import Path

from lm_eval import simple_evaluate

questions = Path("questions.jsonl")
questions.write_text(json.dumps({"question": sys.argv[1], "answer": "ten seconds"}))
task = {
    "task": "lighthouse",
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"test": str(questions)}},
    "test_split": "test",
    "output_type": "generate_until",
    "doc_to_text": "{{question}}",
    "doc_to_target": "{{answer}}",
    "metric_list": [{"metric": "bypass"}],
}
found = simple_evaluate(
    model="local-chat-completions",
    model_args={
        "model": os.environ["MODEL"],
        "base_url": f"{os.environ['OPENAI_BASE_URL']}/chat/completions",
    },
    tasks=[task],
    apply_chat_template=True,
)
for sample in found["samples"]["lighthouse"]:
    print(sample["resps"])
