"""The rules of the method and its seven LLM decisions: facts in, conclusions out, no I/O."""
