"""An outside driver: fetches work until there is no more.

``driver.py URL [FILE]``: with a file, it tells there that the planner spoke, and waits.
"""

import sys
import time
from pathlib import Path

import httpx


def ask(client: httpx.Client, url: str, system: str, user: str) -> str:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    answer = client.post(f"{url}/chat/completions", json={"messages": messages})
    return answer.raise_for_status().json()["choices"][0]["message"]["content"]


url = sys.argv[1]
with httpx.Client(timeout=None, trust_env=False) as client:
    while "run" in (work := client.get(f"{url}/next").raise_for_status().json()):
        roles = work["roles"]
        plan = ask(client, roles["planner"], "You are the planner.", work["prompt"])
        if len(sys.argv) > 2:
            Path(sys.argv[2]).touch()
            time.sleep(600)
        text = ask(
            client, roles["writer"], "You are the writer.", f"{work['prompt']}\n\nPlan: {plan}"
        )
        client.post(f"{url}/run/{work['run']}/answer", json={"answer": text}).raise_for_status()
