"""How the pages of docs/reference are made, a module each."""
