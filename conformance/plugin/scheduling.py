"""Shares out tests among the processes of pytest-xdist: once, by their requests. Tests that share set-up go
to one process.

A process that dies (killed for its memory, say) is replaced, and what it had not run is given to others. A
worker begins its last test only when it has another one or is told that there is none, so each is told as
soon as nothing is left.
"""

from __future__ import annotations

from typing import Any

from conformance.plugin.execution import share


def by_share(config: Any, log: Any, processes: int) -> Any:
    """A scheduler that gives each of the first processes its share at once, and those of a process that died
    to the others."""
    # pytest-xdist need not be installed.
    from xdist.scheduler import LoadScheduling

    # pytest-xdist has no types.
    class ByShare(LoadScheduling):  # type: ignore[misc]
        def schedule(self) -> None:
            if getattr(self, "collection", None) is not None:
                for node in self.nodes:
                    self.check_schedule(node)
                for node in self.nodes:
                    if not self.pending and not node.shutting_down:
                        node.shutdown()
                return
            if not self._check_nodes_have_same_collection():
                return
            self.collection = collection = next(iter(self.node2collection.values()))
            for node in self.nodes:
                number = int(node.gateway.id.removeprefix("gw"))
                mine = share(collection, number, processes)
                self.node2pending[node].extend(mine)
                if mine:
                    node.send_runtest_some(mine)
                node.shutdown()

    return ByShare(config, log)
