"""Pages a person reads: one report file, and a site over a log that may still grow."""
