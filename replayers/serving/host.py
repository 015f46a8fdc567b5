"""A team behind the gateway as a host: a command that is started, or a driver that fetches work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from ...eventlog.errors import BadInput
from ..benchmarks.base import Benchmark, Task
from ..hosts.base import Played, Stage
from .command import running
from .desk import Work
from .performance import Performance
from .server import Server


@attrs.define(kw_only=True)
class GatewayHost:
    """Any team whose roles speak the OpenAI protocol to an address of their own.

    A pass of the team makes one action; a team keeps nothing from one pass to the next, so what it
    may know is in the prompt of each.

    Attributes:
        name: the host's name.
        roles: the roles that own memories.
        others: roles that are recorded and own none (a selector, a summariser).
        command: started once per pass; empty where a driver fetches the work.
        files: name of each file the team is made of, to its SHA-256.
        folder: where the command is started.
        timeout: seconds the command may spend on a pass, the answers it waits for not counted.
    """

    name: str
    roles: tuple[str, ...]
    others: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    files: Mapping[str, str] = attrs.field(factory=dict)
    folder: Path = attrs.field(factory=Path)
    timeout: float = 600.0
    _server: Server | None = attrs.field(default=None, init=False, repr=False, eq=False)

    def facts(self, benchmark: Benchmark) -> dict[str, Any]:  # noqa: ARG002
        """Name, roles, command and the digests of its files; who hears whom only the team knows."""
        facts: dict[str, Any] = {
            "kind": "gateway",
            "name": self.name,
            "roles": [[role, []] for role in self.roles],
            "order": "free",
            "command": list(self.command),
            "files": dict(self.files),
        }
        return {**facts, "others": list(self.others)} if self.others else facts

    def play(self, benchmark: Benchmark, task: Task, stage: Stage) -> Played:
        """Run one episode, pass by pass.

        Raises:
            BadInput: nobody can fetch the work, because it is not served.
            Infrastructure: the team or what answers it failed; nothing was scored.
        """
        if self._server is None:
            if not self.command:
                raise BadInput(
                    f"host {self.name} has no command, so a driver must fetch its work; "
                    "use `discernmem gateway` on this log"
                )
            with self.serving():
                return self.play(benchmark, task, stage)
        performance = Performance(
            name=self.name,
            owners=self.roles,
            benchmark=benchmark,
            task=task,
            stage=stage,
            desk=self._server.desk,
            start=partial(self._start, self._server) if self.command else None,
            timeout=self.timeout,
        )
        return performance.play()

    @contextmanager
    def serving(self, port: int = 0) -> Iterator[str]:
        """Serve on a loopback port for all episodes inside; gives the address.

        Raises:
            BadInput: the port is not free.
        """
        server = Server((*self.roles, *self.others), port)
        self._server = server
        trouble = "the run was stopped"
        try:
            yield server.url
            trouble = ""
        except Exception as error:
            trouble = f"the run stopped: {error}"
            raise
        finally:
            self._server = None
            server.close(trouble)

    def _start(self, server: Server, work: Work) -> Any:
        return running(
            self.command, self.folder, server.told(work), server.run_url(work.run), server.desk
        )
