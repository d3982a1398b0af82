"""Requests and violations of single probes of a check, of which a quick run is put together."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection

from conformance.checks.check import Check, attempted
from conformance.world.run_context import RunContext

#: The name of what a check does before its first probe; a check without probes does nothing else.
SETUP = ""


class Watched:
    """One check on one operation, watched while it runs: `sent` has the requests of each of its probes,
    `probes` the probe of each exchange by its number, and `tripped` the probes that showed a violation. It is
    run with all of them, or those that are `wanted`; `probe` is the one that it is at."""

    def __init__(
        self, check: Check, operation: str, run: RunContext, wanted: Collection[str] | None = None
    ) -> None:
        self.sent: Counter[str] = Counter()
        self.tripped: set[str] = set()
        #: True where the check has a probe that was not wanted.
        self.left_out = False
        self._only = wanted
        self._check, self._operation, self._run = check, operation, run
        self.probe, self.probes = SETUP, dict[int, str]()
        self._requests, self._exchanges, self._broken = run.sent, len(run.record), broken(run)

    def go(self) -> None:
        """Runs the check; whatever mistake of the suite ends it counts for nothing."""
        usual, self._run.wanted = self._run.wanted, self._wanted
        try:
            attempt = attempted(self._check, self._operation, self._run)
        except Exception:
            return
        finally:
            self._turn(SETUP)
            self._run.wanted = usual
        for numbers in attempt.context.violations:
            probes = [self.probes[number] for number in sorted(numbers) if self.probes.get(number)]
            self.tripped.add(probes[-1] if probes else SETUP)

    def _wanted(self, check: str, operation: str, what: str) -> bool:
        if self._only is not None and what not in self._only:
            self.left_out = True
            return False
        self._turn(what)
        return True

    def _turn(self, what: str) -> None:
        """Takes what came since the last turn for the probe before, and begins with another."""
        run = self._run
        fresh = itertools.islice(reversed(run.record), len(run.record) - self._exchanges)
        self.probes |= dict.fromkeys(fresh, self.probe)
        self.sent[self.probe] += run.sent - self._requests
        if broken(run) > self._broken:
            self.tripped.add(self.probe)
        self._requests, self._exchanges, self._broken = run.sent, len(run.record), broken(run)
        self.probe = what


def broken(run: RunContext) -> int:
    """Counts the violations of rules of every response."""
    return sum(tally.broken for tally in run.invariants.tallies.values())
