"""A planner and a writer with nothing but the standard library.

``--die-once FILE``: as long as the file exists, delete it and die after the planner spoke.
``--alone``: in odd jars the writer goes first and needs no planner after all.
``--moody``: says its mood, which is another each time.
"""

import json
import os
import sys
import urllib.request
from pathlib import Path


def ask(url: str, system: str, user: str) -> str:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    body = json.dumps({"messages": messages, "temperature": 0.9, "seed": 5}).encode()
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(urllib.request.Request(f"{url}/chat/completions", body)) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


work = json.load(sys.stdin)
if "--moody" in sys.argv:
    work["prompt"] += f" My mood is {os.urandom(8).hex()}."
if "--alone" in sys.argv:
    draft = ask(work["roles"]["writer"], "You are the writer.", work["prompt"])
    if "jar 1?" in work["prompt"]:
        print(draft)
        sys.exit()
plan = ask(work["roles"]["planner"], "You are the planner.", work["prompt"])
if "--die-once" in sys.argv and (flag := Path(sys.argv[-1])).exists():
    flag.unlink()
    sys.exit("out of luck")
text = ask(work["roles"]["writer"], "You are the writer.", f"{work['prompt']}\n\nPlan: {plan}")
print("thinking aloud")
print(json.dumps({"answer": text}))
