"""The special methods that reach an object through a wire."""

_BINARY = ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow")
_BITWISE = ("lshift", "rshift", "and", "or", "xor")

ORDER = ("__lt__", "__le__", "__gt__", "__ge__")
ARITHMETIC = tuple(
    f"__{side}{name}__"
    for side in ("", "r", "i")
    for name in (*_BINARY, *_BITWISE)
    if (side, name) != ("i", "divmod")
)
PLAIN = (
    *("__call__", "__iter__", "__next__", "__reversed__", "__enter__", "__exit__"),
    *("__len__", "__contains__", "__getitem__", "__setitem__", "__delitem__"),
    *("__str__", "__repr__", "__bool__", "__int__", "__float__", "__index__", "__complex__"),
    *("__abs__", "__neg__", "__pos__", "__invert__", "__round__", "__trunc__"),
    *("__floor__", "__ceil__"),
)
SPECIAL = ("__eq__", "__hash__", *ORDER, *PLAIN, *ARITHMETIC)
