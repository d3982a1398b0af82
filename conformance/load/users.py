"""The users of a load run. A locustfile may import them, and add its own:

from conformance.load.locustfile import *  # the four users, and the judging of their answers


class Hasty(ConformanceUser):
    tasks = steps({Session.pay_impatiently: 1})
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

# First: it makes sockets, threads and locks cooperative before anything else uses them.
from locust import User, between
from locust.exception import StopUser

from conformance.judge.findings import Inconclusive, NotApplicable
from conformance.load.process import LoadProcess
from conformance.load.session import Session

#: Steps of a session.
STEPS = 40

#: Seconds before a user whose session could not begin, or lost the server, begins another.
PAUSE = 1.0

#: A step of a session, by a method of Session or a function of one.
Step = Callable[[Session], Any]


def steps(weights: Mapping[Step, int]) -> list[Any]:
    """Locust's tasks of steps, each with its weight: how often it comes."""

    def task(step: Step) -> Callable[[ConformanceUser], None]:
        return lambda user: user.perform(step)

    return [task(step) for step, weight in weights.items() for _ in range(weight)]


class ConformanceUser(User):
    """A user that works in sessions, each of which begins with creating `begins_with`. The class attribute
    `process` is set before the first user starts."""

    abstract = True
    wait_time = between(0.0, 0.2)
    process: ClassVar[LoadProcess]
    begins_with: ClassVar[tuple[str, ...]] = ()

    def on_start(self) -> None:
        self.session: Session | None = None
        self._left = 0

    def on_stop(self) -> None:
        self._end()

    def perform(self, step: Step) -> None:
        """Does a step in the user's session, or in a new one. A mistake of the suite ends the session."""
        process = self.process
        if reason := process.budget.ended:
            self._end()
            raise StopUser(reason)
        try:
            if self.session is None:
                process.ready()
                self.session, self._left = Session(process), random.randint(STEPS // 2, STEPS)
                for operation in self.begins_with:
                    self.session.add(operation)
            step(self.session)
            self._left -= 1
        except (Inconclusive, NotApplicable) as stop:
            process.unable(stop.reason)
            self._left = 0
            time.sleep(PAUSE)
        except Exception as error:
            process.error(error)
            self._left = 0
            time.sleep(PAUSE)
        if self.session is not None and (self.session.lost or self._left <= 0):
            self._end()

    def _end(self) -> None:
        if self.session is not None:
            session, self.session = self.session, None
            self.process.end(session)


class Payer(ConformanceUser):
    """Pays, is impatient, and repeats what it is not sure of."""

    weight = 4
    tasks = steps(
        {
            Session.pay: 5,
            Session.pay_impatiently: 3,
            Session.repeat: 3,
            Session.repeat_of_earlier: 3,
            Session.race_for_a_key: 2,
            Session.change_under_a_key: 2,
            Session.balances: 1,
        }
    )


class Reader(ConformanceUser):
    """Makes a few things and reads them, one by one and in lists."""

    weight = 3
    begins_with = (
        "createVirtualAccount",
        "createVirtualAccount",
        "createWallet",
        "createBeneficiary",
        "createPayoutDestination",
    )
    tasks = steps(
        {
            Session.walk: 3,
            Session.walk_destinations: 1,
            Session.read_virtual_account: 3,
            Session.read_beneficiary: 2,
            Session.page_of_accounts: 1,
            Session.add_virtual_account: 1,
        }
    )


class Administrator(ConformanceUser):
    """Creates and changes beneficiaries, alone and together with others, and disables them."""

    weight = 3
    begins_with = ("createBeneficiary",)
    tasks = steps(
        {
            Session.change: 4,
            Session.read_beneficiary: 3,
            Session.race_for_fields: 3,
            Session.race_for_a_wallet: 1,
            Session.add_destination: 1,
            Session.replace: 1,
            Session.repeat: 1,
        }
    )


class Careless(ConformanceUser):
    """Sends what must be refused: other signatures, used nonces, incomplete bodies, other people's ids."""

    weight = 2
    begins_with = ("createVirtualAccount", "createBeneficiary")
    tasks = steps(
        {
            Session.ill_signed: 3,
            Session.used_nonce: 4,
            Session.race_for_a_nonce: 2,
            Session.ill_formed: 2,
            Session.another_organization: 3,
            Session.another_account: 1,
            Session.walk: 1,
        }
    )
