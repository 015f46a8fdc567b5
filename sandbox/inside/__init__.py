"""What runs inside the jails: standard library only, and nothing of the rest of this project."""
