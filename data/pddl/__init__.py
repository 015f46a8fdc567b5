"""Domains, problem tables and sentences of the planning benchmark.

A package only so that `importlib.resources` finds these files in an editable install as well: there
the path of a namespace package holds an import hook, which Python 3.11 takes for a bad folder.
"""
