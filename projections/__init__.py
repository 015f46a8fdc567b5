"""Pure folds of the log: what the memory is, what is known about it, what it cost, and why."""
