"""A planner and a writer with the openai package, which finds the gateway by the environment."""

import json
import os
import sys

from openai import OpenAI


def ask(role: str, user: str) -> str:
    url = f"{os.environ['DISCERNMEM_BASE_URL']}/role/{role}/v1"
    with OpenAI(base_url=url, max_retries=0) as client:
        answer = client.chat.completions.create(
            model=client.models.list().data[0].id,
            temperature=0.7,
            max_tokens=9,
            messages=[
                {"role": "developer", "content": f"You are the {role}."},
                {"role": "user", "content": [{"type": "text", "text": user}]},
            ],
        )
    return answer.choices[0].message.content or ""


work = json.load(sys.stdin)
plan = ask("planner", work["prompt"])
print(ask("writer", f"{work['prompt']}\n\nPlan: {plan}"))
