"""The locustfile of `conformance load`: five kinds of users, and a controller in Locust's master or only
process.

Another locustfile may import the users, and add its own (conformance/docs/load.md). Reports and limits are
sent as Locust's messages.
"""

from __future__ import annotations

import contextlib
import csv
import fnmatch
import io
import random
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

import gevent
from gevent.event import Event

# Importing locust applies gevent's monkey patches, so it precedes other imports.
from locust import User, between, events, runners
from locust.env import Environment
from locust.exception import StopUser
from locust.runners import MasterRunner, WorkerRunner
from locust.stats import PERCENTILES_TO_REPORT, StatsCSV

from conformance.checks import load_checks
from conformance.checks.check import CheckDefinition
from conformance.contract.traits import TRAITS
from conformance.load.coordinator import LoadController
from conformance.load.long_checks import LONG_CHECKS
from conformance.load.process import LoadProcess
from conformance.load.settings import Settings
from conformance.wire.messages import Exchange
from conformance.world.samples import label_run

__all__ = ["Administrator", "Careless", "ConformanceUser", "Creator", "Payer", "Reader", "checks_of"]

#: Seconds between reports of a process, and the timeout for its last one.
REPORTS, PATIENCE = 1.0, 10.0

#: Missed heartbeats after which a worker is lost; Locust's three are too few for a worker on a busy machine.
runners.HEARTBEAT_LIVENESS = 8

#: Names of messages: a worker's report; a worker's share of the rate, with the run's label; the last report,
#: asked for and given.
REPORT, SHARE, FINISH, FINISHED = (
    f"conformance.{word}" for word in ("report", "share", "finish", "finished")
)

#: Checks of a session.
CHECKS = 12

#: Seconds before a user goes on after a check that judged nothing, or an error.
PAUSE = 1.0


# ---------------------------------------------------------------------- users


def checks_of(weights: Mapping[str, int], *, money: bool = False) -> list[Any]:
    """Locust's tasks: checks of the rules that match a pattern (`idempotency.*`), each pattern with its
    weight; with `money` those that move money, else all others. Checks of deep runs, and those that come last
    in a run, are left out. Raises ValueError for a pattern without checks."""

    def task(pattern: str) -> Callable[[ConformanceUser], None]:
        choices = [
            (check, operation)
            for check in (load_checks() | LONG_CHECKS).values()
            if fnmatch.fnmatch(check.rules[0], pattern) and not (check.last or check.deep)
            for operation in check.operations
            if _moves_money(check, operation) is money
        ]
        if not choices:
            raise ValueError(f"no check of the suite is of {pattern!r}; `conformance rules` lists the rules")
        return lambda user: user.judge(*random.choice(choices))

    return [each for pattern, weight in weights.items() for each in [task(pattern)] * weight]


def _moves_money(check: CheckDefinition, operation: str) -> bool:
    """True for a check that pays from the funded account, or judges its balances."""
    return TRAITS[operation].draws_on_funds or check.name.startswith(("test_payout", "test_balances"))


class ConformanceUser(User):
    """A user that runs checks in sessions. The class attribute `process` is set before the first user
    starts."""

    abstract = True
    wait_time = between(0.0, 0.2)
    process: ClassVar[LoadProcess]

    def on_start(self) -> None:
        self._session, self._left = 0, 0

    def on_stop(self) -> None:
        self.process.end(self._session)

    def judge(self, check: CheckDefinition, operation: str) -> None:
        """Runs a check in the user's session, or in a new one; an error of the suite ends the session."""
        process, judged = self.process, False
        if reason := process.budget.ended:
            raise StopUser(reason)
        if not self._left or self._session not in process.sessions:
            process.end(self._session)
            self._session, self._left = process.begin(), CHECKS
        try:
            judged = process.judge(self._session, check, operation)
            self._left -= 1
        except Exception as error:
            process.stopped(error)
            self._left = 0
        if not judged:
            time.sleep(PAUSE)


class Creator(ConformanceUser):
    """Creates resources, repeats requests, and races for keys."""

    weight = 4
    tasks = checks_of(
        {
            "idempotency.race": 3,
            "idempotency.replay*": 5,
            "idempotency.conflict": 2,
            "create.echo": 1,
            "format.id-unique": 1,
        }
    )


class Reader(ConformanceUser):
    """Creates resources and reads them, one by one and in lists."""

    weight = 3
    tasks = checks_of({"list.complete": 3, "list.walk": 2, "read.equals-create": 3, "create.echo": 2})


class Administrator(ConformanceUser):
    """Updates and disables beneficiaries, alone and at once with others."""

    weight = 3
    tasks = checks_of(
        {"beneficiary.update": 6, "beneficiary.disable": 3, "beneficiary.destinations": 1, "wallet.*": 2}
    )


class Careless(ConformanceUser):
    """Sends requests that must be refused: wrong signatures, used nonces, incomplete bodies, foreign ids."""

    weight = 2
    tasks = checks_of(
        {"auth.signature": 1, "auth.signed-*": 2, "auth.nonce-*": 4, "tenancy.*": 3, "fields.required": 1}
    )


class Payer(ConformanceUser):
    """Pays: one user in all, as others who pay from its account would hide what a payout does to it."""

    fixed_count = 1
    tasks = checks_of(
        {"payout.race": 6, "payout.*": 1, "idempotency.*": 3, "create.*": 1, "balances.*": 1}, money=True
    )


# ---------------------------------------------------------------------- processes


class Users:
    """A process with users: reports to the controller."""

    def __init__(self, environment: Environment, settings: Settings) -> None:
        self.environment, self.settings = environment, settings
        self.runner = cast(Any, environment.runner)
        self.process: LoadProcess | None = None
        self._share: dict[str, Any] = {}
        self.runner.register_message(SHARE, self._shared)
        self.runner.register_message(FINISH, self._finish, concurrent=True)
        environment.events.test_start.add_listener(self.start)
        gevent.spawn(self._report)

    def start(self, **_: Any) -> None:
        """Starts a run; only now a worker knows its index."""
        self.process = LoadProcess(self.settings.target, max(self.runner.worker_index, 0) + 1, self._count)
        ConformanceUser.process = self.process
        self._shared()

    def _shared(self, msg: Any = None, **_: Any) -> None:
        self._share = msg.data if msg else self._share
        if self.process is not None and self._share:
            label_run(self._share["label"])
            self.process.limit(self._share["rate"])

    def _count(self, exchange: Exchange) -> None:
        """Adds an exchange to Locust's statistics if it was sent; failures are lost answers and 5xx."""
        if not exchange.attempts:
            return
        failed = exchange.status is None or (exchange.status >= 500 and not exchange.throttled)
        self.environment.events.request.fire(
            request_type=exchange.method,
            name=exchange.operation or "other",
            response_time=exchange.elapsed * 1000,
            response_length=len(exchange.response_body),
            exception=RuntimeError(exchange.described()) if failed else None,
        )

    def _report(self) -> None:
        while True:
            gevent.sleep(REPORTS)
            if self.process is not None:
                self.runner.send_message(REPORT, {"data": self.process.report()})

    def _finish(self, **_: Any) -> None:
        if self.process is not None:
            self.runner.send_message(FINISHED, {"data": self.process.finished()})


class Control:
    """The controller's side in Locust's master or only process: distributes limits, merges and decides."""

    def __init__(self, environment: Environment, settings: Settings) -> None:
        self.environment, self.settings = environment, settings
        self.runner = cast(Any, environment.runner)
        self.controller: LoadController | None = None
        self._early, self._summary = False, ""
        #: Workers with their share of the rate, and the most that there were.
        self._shares: list[str] = []
        self._most = 1
        #: Workers whose last report has not come.
        self._awaited: set[str] = set()
        self._whole = Event()
        self.runner.register_message(REPORT, self._reported)
        self.runner.register_message(FINISHED, self._finished)
        environment.events.test_start.add_listener(self.start)
        environment.events.test_stopping.add_listener(self.stopping)
        environment.events.quitting.add_listener(self.quitting)
        environment.events.quit.add_listener(self.quit)

    @property
    def workers(self) -> list[str]:
        """The ids of processes with users."""
        if not isinstance(self.environment.runner, MasterRunner):
            return ["local"]
        return [worker.id for worker in self.runner.clients.all if worker.state != "missing"]

    @property
    def running(self) -> LoadController | None:
        """The controller of the run, until it is decided."""
        return None if self.controller is None or self.controller.document else self.controller

    def start(self, **_: Any) -> None:
        """Starts a run; Locust's web page may start several."""
        self.controller, self._shares, self._most = LoadController(self.settings), [], 1
        gevent.spawn(self._share, self.controller)

    def _share(self, controller: LoadController) -> None:
        """Distributes the rate whenever workers change."""
        while controller is self.running:
            if (workers := self.workers) != self._shares and workers:
                self._shares, self._most = workers, max(self._most, len(workers))
                rate = self.settings.target.limits.requests_per_second / len(workers)
                for worker in workers:
                    self.runner.send_message(SHARE, {"rate": rate, "label": self.settings.label}, worker)
            gevent.sleep(REPORTS)

    def _reported(self, msg: Any, **_: Any) -> None:
        if self.running is not None:
            self.running.take(msg.data["data"], msg.node_id)

    def _finished(self, msg: Any, **_: Any) -> None:
        self._reported(msg)
        self._awaited.discard(msg.node_id)
        if not self._awaited:
            self._whole.set()

    # ------------------------------------------------------------------ the end

    def stopping(self, **_: Any) -> None:
        """Collects the last reports before users stop, and decides the run."""
        if (controller := self.running) is None:
            return
        workers = self.workers
        self._awaited, self._whole = {*workers}, Event()
        for worker in workers:
            self.runner.send_message(FINISH, client_id=worker)
        self._whole.wait(PATIENCE if workers else 0)
        lost = "" if workers else "all workers were lost"
        interrupted = "by the user or the system" if self._early else lost
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = controller.finish(interrupted, self._most)
        self.environment.process_exit_code = status
        # Locust prints its statistics at the end of a headless run: the verdict comes after them.
        if self.environment.parsed_options and self.environment.parsed_options.headless:
            self._summary = output.getvalue()
        else:
            print(output.getvalue(), end="", flush=True)
        with (controller.folder / "locust_stats.csv").open("w", newline="") as file:
            StatsCSV(self.environment, PERCENTILES_TO_REPORT).requests_csv(csv.writer(file))

    def quit(self, **_: Any) -> None:
        """Prints the verdict as the last of a headless run."""
        print(self._summary, end="", flush=True)

    def quitting(self, **_: Any) -> None:
        """The process ends; early, if a run with a run time was not stopped before."""
        self._early = bool(getattr(self.environment.parsed_options, "run_time", None))
        self.stopping()
        if self.controller is None:
            print("conformance load: no run was started, so nothing was judged.", file=sys.stderr)


@events.init.add_listener
def _begin(environment: Environment, **_: Any) -> None:
    settings = Settings.from_environment()
    # Raised in the main greenlet: any other might catch KeyboardInterrupt.
    gevent.signal_handler(signal.SIGINT, gevent.kill, gevent.getcurrent(), KeyboardInterrupt)
    if not isinstance(environment.runner, MasterRunner):
        environment.process_exit_code = 0
        Users(environment, settings)
    if not isinstance(environment.runner, WorkerRunner):
        Control(environment, settings)
