"""A planner and a writer of pydantic-ai, each an agent with a base URL of its own, as a driver."""

import json
import sys
import urllib.request
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


def agent(role: str, url: str) -> Agent[None, str]:
    model = OpenAIChatModel("any", provider=OpenAIProvider(base_url=url, api_key="none"))
    return Agent(model, instructions=f"You are the {role}.")


def web(url: str, **body: str) -> dict[str, Any]:
    data = json.dumps(body).encode() if body else None
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(urllib.request.Request(url, data)) as answer:
        return json.load(answer)


url = sys.argv[1]
while "run" in (work := web(f"{url}/next")):
    planner, writer = (agent(role, work["roles"][role]) for role in ("planner", "writer"))
    plan = planner.run_sync(work["prompt"]).output
    text = writer.run_sync(f"{work['prompt']}\n\nPlan: {plan}").output
    web(f"{url}/run/{work['run']}/answer", answer=text)
