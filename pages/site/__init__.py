"""A site over a log that may still grow: Datasette with pages for memories, tasks and events."""
