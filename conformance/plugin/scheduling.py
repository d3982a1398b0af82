"""How pytest-xdist shares out tests where lanes run ahead: once, by what they cost, so that each process
knows its part from the beginning."""

from __future__ import annotations

from typing import Any

from conformance.plugin.execution import share


def by_share(config: Any, log: Any) -> Any:
    """A scheduler that gives each process its share at once, and those of a process that died to the
    others."""
    from xdist.scheduler import LoadScheduling

    # pytest-xdist has no types.
    class ByShare(LoadScheduling):  # type: ignore[misc]
        def schedule(self) -> None:
            if getattr(self, "collection", None) is not None:
                for node in self.nodes:
                    self.check_schedule(node)
                return
            if not self._check_nodes_have_same_collection():
                return
            self.collection = collection = next(iter(self.node2collection.values()))
            for node in self.nodes:
                number = int(node.gateway.id.removeprefix("gw"))
                mine = share(collection, number, self.numnodes)
                self.node2pending[node].extend(mine)
                if mine:
                    node.send_runtest_some(mine)
                node.shutdown()

    return ByShare(config, log)
