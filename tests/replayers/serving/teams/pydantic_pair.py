"""A planner and a writer of pydantic-ai, each an agent with a base URL of its own."""

import json
import sys

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

work = json.load(sys.stdin)


def agent(role: str) -> Agent[None, str]:
    provider = OpenAIProvider(base_url=work["roles"][role], api_key="none")
    model = OpenAIChatModel("any", provider=provider)
    return Agent(model, instructions=f"You are the {role}.")


plan = agent("planner").run_sync(work["prompt"]).output
answer = agent("writer").run_sync(f"{work['prompt']}\n\nPlan: {plan}").output
print(json.dumps({"answer": answer}))
