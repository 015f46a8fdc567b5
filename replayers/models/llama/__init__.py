"""llama.cpp behind the model protocol; the library itself loads with the first model.

Nothing is imported here: a run with a server and word vectors needs none of it installed.
"""
