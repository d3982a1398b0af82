"""The locustfile of `conformance load`: four kinds of users, and a controller in Locust's master or only
process.

Another locustfile may import the users, and add its own (conformance/docs/load.md). Reports, limits,
questions and races are sent as Locust's messages, as JSON data.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

import gevent
import msgspec
from gevent.event import AsyncResult

# Importing locust applies gevent's monkey patches, so it precedes other imports.
from locust import User, between, events, runners
from locust.env import Environment
from locust.exception import StopUser
from locust.runners import MasterRunner, WorkerRunner
from locust.stats import PERCENTILES_TO_REPORT, StatsCSV

from conformance.judge.verdicts import Inconclusive
from conformance.load.coordinator import LoadController
from conformance.load.driver import SessionOver
from conformance.load.history import Named, Script, concurrently
from conformance.load.process import LoadProcess, unpacked
from conformance.load.settings import Settings
from conformance.load.user_session import MOST_RACES, Session
from conformance.wire.messages import Exchange
from conformance.world.run import Run
from conformance.world.samples import label_run

__all__ = ["Administrator", "Careless", "ConformanceUser", "Payer", "Reader", "Session", "steps"]

#: Seconds between reports of a process, and the timeout for an answer of a worker.
REPORTS, PATIENCE = 1.0, 10.0

#: Missed heartbeats after which a worker is lost; Locust's three are too few for a worker on a busy machine.
runners.HEARTBEAT_LIVENESS = 8

#: Names of messages.
REPORT, ASK, ANSWER, SHARE = (f"conformance.{word}" for word in ("report", "ask", "answer", "share"))

#: Maximum steps of a session.
STEPS = 40

#: Seconds before a user begins another session after an error.
PAUSE = 1.0


# ---------------------------------------------------------------------- users


def steps(**weights: int) -> list[Any]:
    """Locust's tasks for steps, given as methods of Session with weights."""

    def task(name: str) -> Callable[[ConformanceUser], None]:
        return lambda user: user.perform(getattr(Session, name))

    return [task(name) for name, weight in weights.items() for _ in range(weight)]


class ConformanceUser(User):
    """A user that works in sessions, each of which first creates resources of the kinds `begins_with`. The
    class attribute `process` is set before the first user starts."""

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
        """Performs a step in the user's session, or in a new one; an internal error ends the session."""
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
        except SessionOver:
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
    """Makes payouts, retries early, and repeats requests."""

    weight = 4
    tasks = steps(
        pay=5, pay_twice=3, repeat=3, repeat_of_earlier=3, race_for_a_key=2, change_under_a_key=2, balances=1
    )


class Reader(ConformanceUser):
    """Creates a few resources and reads them, one by one and in lists."""

    weight = 3
    begins_with = ("VirtualAccount", "VirtualAccount", "Wallet", "Beneficiary", "PayoutDestination")
    tasks = steps(
        walk=3, walk_destinations=1, read_virtual_account=3, read_beneficiary=2, page_of_accounts=1, add=1
    )


class Administrator(ConformanceUser):
    """Creates, updates and disables beneficiaries, alone and concurrently with others."""

    weight = 3
    begins_with = ("Beneficiary", "PayoutDestination")
    tasks = steps(change=4, read_beneficiary=3, race_for_fields=3, race_for_a_wallet=1, replace=1, repeat=1)


class Careless(ConformanceUser):
    """Sends requests that must be refused: wrong signatures, used nonces, incomplete bodies, foreign ids."""

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


# ---------------------------------------------------------------------- processes


class Users:
    """A process with users: reports to the controller and answers its questions."""

    def __init__(self, environment: Environment, settings: Settings) -> None:
        self.environment, self.settings = environment, settings
        self.runner = cast(Any, environment.runner)
        self.process: LoadProcess | None = None
        self._share: dict[str, Any] = {}
        self.runner.register_message(ASK, self._asked, concurrent=True)
        self.runner.register_message(SHARE, self._shared)
        environment.events.test_start.add_listener(self.start)
        gevent.spawn(self._report)

    def start(self, **_: Any) -> None:
        """Starts a run; only now a worker knows its index."""
        self.process = LoadProcess(self.settings.target, max(self.runner.worker_index, 0) + 1, [self._count])
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

    def _asked(self, msg: Any, **_: Any) -> None:
        """Answers a question: the name of a method of LoadProcess with its arguments."""
        if self.process is not None:
            answer = getattr(self.process, msg.data["what"])(*msg.data["given"])
            self.runner.send_message(ANSWER, {"ask": msg.data["ask"], "data": answer, "time": time.time()})


class Control:
    """The controller's side in Locust's master or only process: distributes limits, asks and decides."""

    def __init__(self, environment: Environment, settings: Settings) -> None:
        self.environment, self.settings = environment, settings
        self.runner = cast(Any, environment.runner)
        #: True in a master.
        self.several = isinstance(environment.runner, MasterRunner)
        self.controller: LoadController | None = None
        self._early, self._summary = False, ""
        self._asks = itertools.count()
        self._waiting: dict[int, AsyncResult[Any]] = {}
        #: The workers when limits were last distributed, and the most that there were.
        self._last: list[str] = []
        self._most = 1
        self.runner.register_message(REPORT, self._reported, concurrent=True)
        self.runner.register_message(ANSWER, self._answered)
        environment.events.test_start.add_listener(self.start)
        environment.events.test_stopping.add_listener(self.stopping)
        environment.events.quitting.add_listener(self.quitting)
        environment.events.quit.add_listener(self.quit)

    @property
    def workers(self) -> list[str]:
        """The ids of processes with users."""
        if not self.several:
            return ["local"]
        return [worker.id for worker in self.runner.clients.all if worker.state != "missing"]

    def start(self, **_: Any) -> None:
        """Starts a run; Locust's web page may start several."""
        self.controller, self._last, self._most = LoadController(self.settings, self.find), [], 1
        self.racer = LoadProcess(self.settings.target) if self.several else ConformanceUser.process
        gevent.spawn(self._share, self.controller, self.racer)

    def _share(self, controller: LoadController, racer: LoadProcess) -> None:
        """Distributes the rate whenever workers change. A master has its own part, for races."""
        races = None
        while self._runs(controller):
            if (workers := self.workers) != self._last and workers:
                self._last, self._most = workers, max(self._most, len(workers))
                rate = self.settings.target.limits.requests_per_second / (len(workers) + self.several)
                for worker in workers:
                    self.runner.send_message(SHARE, {"rate": rate, "label": self.settings.label}, worker)
                racer.limit(rate)
            if self._last and races is None:
                races = gevent.spawn(self._race, controller, racer)
            gevent.sleep(REPORTS)

    def _runs(self, controller: LoadController) -> bool:
        return controller is self.controller and not controller.document

    # ------------------------------------------------------------------ messages

    def _reported(self, msg: Any, **_: Any) -> None:
        if self.controller is not None and self._runs(self.controller):
            self.controller.take(msg.data["data"], msg.node_id)

    def _answered(self, msg: Any, **_: Any) -> None:
        if (waiting := self._waiting.pop(msg.data["ask"], None)) is not None:
            # The offset of this clock from the worker's includes the delay of the message.
            waiting.set((msg.node_id, msg.data["data"], time.time() - msg.data["time"]))

    def ask(self, what: str, given: dict[str, list[Any]]) -> list[tuple[str, bytes, float]]:
        """Asks workers, each with its own arguments; returns worker, answer and clock offset in seconds for
        those that answer in time."""
        asked = []
        for worker, arguments in given.items():
            number = next(self._asks)
            self._waiting[number] = waiting = AsyncResult()
            self.runner.send_message(ASK, {"ask": number, "what": what, "given": arguments}, worker)
            asked.append((number, waiting))
        gevent.joinall([gevent.spawn(waiting.wait) for _, waiting in asked], timeout=PATIENCE)
        for number, _ in asked:
            self._waiting.pop(number, None)
        return [waiting.value for _, waiting in asked if waiting.ready()]

    def find(self, wanted: Sequence[tuple[str, int]]) -> list[Exchange]:
        """Exchanges by worker and number, in the order sent; those no longer kept are omitted."""
        given = {each: [[number for worker, number in wanted if worker == each]] for each, _ in wanted}
        found = [exchange for _, data, _ in self.ask("find", given) for exchange in unpacked(data)]
        return sorted(found, key=lambda exchange: exchange.begun)

    # ------------------------------------------------------------------ races of several processes

    def _race(self, controller: LoadController, process: LoadProcess) -> None:
        """Races for funds while the workers hold their payouts, and races of several workers for keys,
        nonces, fields and wallets."""
        kinds = ("keys", "nonces", "beneficiaries", "wallets") if self.several else ()
        while self._runs(controller):
            try:
                process.ready()
                session = Session(process)
                try:
                    for kind in random.choices((*kinds, "funds"), k=MOST_RACES):
                        if kind == "funds":
                            self._race_for_funds(session)
                        else:
                            session.race(kind, self.across)
                        gevent.sleep(REPORTS)
                finally:
                    process.end(session)
            except Exception as error:
                process.stopped(error)
                gevent.sleep(REPORTS)
            if self.several and self._runs(controller):
                controller.take(process.report(), "master")

    def _race_for_funds(self, session: Session) -> None:
        try:
            if len(self.ask("hold", {worker: [True] for worker in self._last})) == len(self._last):
                session.race_for_funds(self.across if self.several else concurrently)
        finally:
            self.ask("hold", {worker: [False] for worker in self._last})

    def across(self, run: Run, scripts: Sequence[Script], purpose: str) -> list[Named]:
        """Runs scripts concurrently, each in a worker. Raises Inconclusive if one does not answer."""
        workers = random.sample(self.workers, len(self.workers))
        plain = [[[name, msgspec.to_builtins(request)] for name, request in script] for script in scripts]
        given: dict[str, list[Any]] = {
            worker: [plain[at :: len(workers)], purpose] for at, worker in enumerate(workers[: len(plain)])
        }
        answers = self.ask("race", given)
        if len(answers) < len(given):
            raise Inconclusive("a worker gave no answer in a race")
        done: list[Named] = []
        for _, packed, ahead in answers:
            for exchange in unpacked(packed):
                exchange.started, exchange.begun = exchange.started + ahead, exchange.begun + ahead
                exchange.raced = done[0][1].number if done else exchange.number
                run.record[exchange.number] = exchange
                done.append((exchange.purpose.removeprefix(f"{purpose}: "), exchange))
        return sorted(done, key=lambda pair: pair[1].begun)

    # ------------------------------------------------------------------ the end

    def stopping(self, **_: Any) -> None:
        """Collects the last reports before users stop, and decides the run."""
        if (controller := self.controller) is None or controller.document:
            return
        for worker, data, *_offset in self.ask("finished", {worker: [] for worker in self.workers}):
            controller.take(data, worker)
        if self.several:
            controller.take(self.racer.finished(), "master")
        lost = "" if self.workers else "all workers were lost"
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
