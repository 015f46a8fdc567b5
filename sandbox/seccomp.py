"""The system calls a jail refuses, as a filter in the kernel's own form (classic BPF).

bubblewrap takes the compiled filter from a file descriptor, so no library is needed at run time.
Everything a Python program needs stays allowed; refused is what reaches out of the jail (sockets,
mounts, namespaces, other processes), what makes a second process (the limits of time and memory
are per process, so one process keeps them exact) and what holds memory that no limit counts.
"""

from __future__ import annotations

import platform
import struct

# number on x86_64, number on aarch64; None where the architecture lacks the call.
_REFUSED: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "finit_module": (313, 273),
    "fork": (57, None),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "semget": (64, 190),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "shmget": (29, 194),
    "socket": (41, 198),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "sync": (162, 81),
    "syncfs": (306, 267),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, None),
    "userfaultfd": (323, 282),
    "vfork": (58, None),
    "vhangup": (153, 58),
}
# audit architecture, clone, clone3
_MACHINES = {"x86_64": (0xC000003E, 56, 435), "aarch64": (0xC00000B7, 220, 435)}

_CLONE_THREAD = 0x00010000
_X32_BIT = 0x40000000
_EPERM, _ENOSYS = 1, 38

_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K
_KILL, _ERROR, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000

_NUMBER, _ARCHITECTURE, _FLAGS = 0, 4, 16  # offsets in struct seccomp_data


def supported(machine: str | None = None) -> bool:
    """Whether a filter exists for this machine's architecture."""
    return (machine or platform.machine()) in _MACHINES


def compiled(machine: str | None = None) -> bytes:
    """The filter for an architecture (default: this machine's), as bubblewrap wants it.

    Raises:
        KeyError: There is no filter for the architecture; ask `supported` first.
    """
    machine = machine or platform.machine()
    audit, clone, clone3 = _MACHINES[machine]
    column = list(_MACHINES).index(machine)
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        # The x32 numbering would be a second door to every call.
        program += [(_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, _ERROR | _EPERM)]
    for numbers in _REFUSED.values():
        number = numbers[column]
        if number is not None:
            program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERROR | _EPERM)]
    program += [
        # The C library falls back to clone, whose flags, unlike clone3's, a filter can read.
        (_EQUAL, 0, 1, clone3),
        (_RETURN, 0, 0, _ERROR | _ENOSYS),
        (_EQUAL, 0, 3, clone),
        (_LOAD, 0, 0, _FLAGS),
        (_ANY_BIT, 1, 0, _CLONE_THREAD),
        (_RETURN, 0, 0, _ERROR | _EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
