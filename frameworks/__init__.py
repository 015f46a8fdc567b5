"""Teams of other frameworks under DiscernMem; each adapter needs the extra of its framework."""
