"""The filter does on both architectures what its table says, read as the kernel reads it."""

import struct

import pytest

from discernmem.sandbox import seccomp

ALLOW, EPERM, ENOSYS, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# From the kernel's tables: read, openat, execve, exit_group, futex, mmap, socketpair.
NEEDED = {"x86_64": [0, 257, 59, 231, 202, 9, 53], "aarch64": [63, 56, 221, 94, 98, 222, 199]}
CLONE = {"x86_64": 56, "aarch64": 220}
THREAD_FLAGS = 0x3D0F00  # what the C library asks for when it starts a thread


def decided(machine: str, number: int, first: int = 0, audit: int | None = None) -> int:
    """Run the program as the kernel does; only the instructions a filter may use."""
    data = struct.pack("=IIQ6Q", number, audit or AUDIT[machine], 0, first, 0, 0, 0, 0, 0)
    program = list(struct.iter_unpack("=HBBI", seccomp.compiled(machine)))
    at = register = 0
    while True:
        code, yes, no, constant = program[at]
        at += 1
        if code == 0x20:
            (register,) = struct.unpack_from("=I", data, constant)
        elif code == 0x06:
            return constant
        else:
            holds = {
                0x15: register == constant,
                0x35: register >= constant,
                0x45: bool(register & constant),
            }[code]
            at += yes if holds else no


@pytest.mark.parametrize("machine", AUDIT)
def test_what_python_needs_is_allowed_and_all_of_the_table_refused(machine: str) -> None:
    column = list(AUDIT).index(machine)
    refused = {numbers[column] for numbers in seccomp._REFUSED.values()} - {None}
    special = {CLONE[machine], 435}
    for number in range(600):
        expected = EPERM if number in refused else ALLOW
        if number not in special:
            assert decided(machine, number) == expected, number
    assert not refused & set(NEEDED[machine])


@pytest.mark.parametrize("machine", AUDIT)
def test_threads_may_start_and_processes_may_not(machine: str) -> None:
    clone = CLONE[machine]
    assert decided(machine, clone, THREAD_FLAGS) == ALLOW
    assert decided(machine, clone, 17) == EPERM  # SIGCHLD: a fork
    assert decided(machine, clone, 0x10000000) == EPERM  # a user namespace
    assert decided(machine, 435) == ENOSYS  # clone3, whose flags cannot be read


def test_another_numbering_of_the_calls_is_no_way_in() -> None:
    assert decided("x86_64", 0, audit=0x40000003) == KILL
    assert decided("x86_64", 0x40000000 | 101) == EPERM
    assert not seccomp.supported("riscv64")
