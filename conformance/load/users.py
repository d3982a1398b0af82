"""The users of a load run. A locustfile may import them, and add its own (conformance/docs/load.md)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, ClassVar

# First: it makes sockets, threads and locks cooperative before anything else uses them.
from locust import User, between
from locust.exception import StopUser

from conformance.fuzz.stateful.sender import ExampleOver
from conformance.load.process import LoadProcess
from conformance.load.user_session import Session

#: Steps of a session.
STEPS = 40

#: Seconds before a user whose session could not begin, or lost the server, begins another.
PAUSE = 1.0


def steps(**weights: int) -> list[Any]:
    """Locust's tasks of steps: methods of Session by their names, each with its weight."""

    def task(name: str) -> Callable[[ConformanceUser], None]:
        return lambda user: user.perform(getattr(Session, name))

    return [task(name) for name, weight in weights.items() for _ in range(weight)]


class ConformanceUser(User):
    """A user that works in sessions, each of which begins with creating resources of the kinds `begins_with`.
    The class attribute `process` is set before the first user starts."""

    abstract = True
    wait_time = between(0.0, 0.2)
    process: ClassVar[LoadProcess]
    begins_with: ClassVar[tuple[str, ...]] = ()

    def on_start(self) -> None:
        self.session: Session | None = None
        self._left = 0

    def on_stop(self) -> None:
        self._end()

    def perform(self, step: Callable[[Session], Any]) -> None:
        """Does a step in the user's session, or in a new one. A mistake of the suite ends the session."""
        process = self.process
        if reason := process.budget.ended:
            self._end()
            raise StopUser(reason)
        try:
            if self.session is None:
                process.ready()
                self.session, self._left = Session(process), random.randint(STEPS // 2, STEPS)
                self.session.begin()
                for kind in self.begins_with:
                    self.session.add(kind)
            step(self.session)
            self._left -= 1
            if not self._left:
                self.session.look_back()
        except ExampleOver:
            self._left = 0
        except Exception as error:
            process.stopped(error)
            self._left = 0
            time.sleep(PAUSE)
        if self.session is not None and self._left <= 0:
            self._end()

    def _end(self) -> None:
        if self.session is not None:
            session, self.session = self.session, None
            self.process.end(session)


class Payer(ConformanceUser):
    """Pays, is impatient, and repeats what it is not sure of."""

    weight = 4
    tasks = steps(
        pay=5, pay_twice=3, repeat=3, repeat_of_earlier=3, race_for_a_key=2, change_under_a_key=2, balances=1
    )


class Reader(ConformanceUser):
    """Makes a few things and reads them, one by one and in lists."""

    weight = 3
    begins_with = ("VirtualAccount", "VirtualAccount", "Wallet", "Beneficiary", "PayoutDestination")
    tasks = steps(
        walk=3, walk_destinations=1, read_virtual_account=3, read_beneficiary=2, page_of_accounts=1, add=1
    )


class Administrator(ConformanceUser):
    """Creates and changes beneficiaries, alone and together with others, and disables them."""

    weight = 3
    begins_with = ("Beneficiary", "PayoutDestination")
    tasks = steps(change=4, read_beneficiary=3, race_for_fields=3, race_for_a_wallet=1, replace=1, repeat=1)


class Careless(ConformanceUser):
    """Sends what must be refused: other signatures, used nonces, incomplete bodies, other people's ids."""

    weight = 2
    begins_with = ("VirtualAccount", "Beneficiary")
    tasks = steps(
        ill_signed=3,
        used_nonce=4,
        race_for_a_nonce=2,
        ill_formed=2,
        another_organization=3,
        another_account=1,
        walk=1,
    )
