"""How pytest-xdist shares out tests: by what shares set-up, or, where lanes run ahead, once and by what they
cost, so that each process knows its part from the beginning.

A process that dies (killed for its memory, say) is replaced, and what it had not run is given to others. A
worker begins its last test only when it has another one or is told that there is none, so each is told as
soon as nothing is left."""

from __future__ import annotations

from typing import Any

from conformance.plugin import selection
from conformance.plugin.execution import share


def by_scope(config: Any, log: Any) -> Any:
    """A scheduler that keeps tests that share set-up in one worker."""
    from xdist.scheduler import LoadScopeScheduling

    # pytest-xdist has no types.
    class ByScope(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return selection.scope(nodeid)

        def schedule(self) -> None:
            super().schedule()
            for node in self.nodes if self.collection is not None else ():
                self._keep_busy(node)

        def _reschedule(self, node: Any) -> None:
            super()._reschedule(node)
            self._keep_busy(node)

        def _keep_busy(self, node: Any) -> None:
            while (
                self.workqueue and not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2
            ):
                self._assign_work_unit(node)
            _tell_that_none_is_left([node], self.workqueue)

    return ByScope(config, log)


def _tell_that_none_is_left(nodes: Any, waiting: Any) -> None:
    for node in nodes:
        if not waiting and not node.shutting_down:
            node.shutdown()


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
                _tell_that_none_is_left(self.nodes, self.pending)
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
