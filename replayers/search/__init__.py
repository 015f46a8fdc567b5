"""Looking things up: the marks of a search in a reply, and what is searched."""
