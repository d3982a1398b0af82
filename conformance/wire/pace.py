"""The pace of a process: how many tests run at once, and how many requests at once and a second, as the
server's answers allow.

Lanes are added while answers come as soon as before, and removed where they come later. Requests are held
back where the server refused some for their number (429, or 503 with Retry-After). Times are seconds of one
monotonic clock.
"""

from __future__ import annotations

import math
import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import accumulate
from statistics import median

from conformance._text import count
from conformance.wire.limits import Limit
from conformance.wire.messages import Exchange

#: First and maximum number of lanes.
FIRST, MOST = 4, 48

#: Latency, as a multiple of the lowest so far, below which lanes are added, and above which they are removed
#: if they gained nothing.
SOON, LATER = 1.4, 1.25

#: What lanes gain, as a part of what fewer have gained, below which none are added, and some removed; how
#: fast the gain of other numbers fades with each decision.
LESS, FADING = 0.95, 0.99

#: Decisions for which none are added after some were removed, at first and at most: they double each time.
REST, LONG_REST = 8, 64

#: Answers between two decisions about lanes: for each lane, and at least.
EACH, AT_LEAST = 3, 32

#: Consecutive answers of an operation whose median may be its lowest latency, and decisions whose mean is the
#: usual latency.
SAMPLE, MEAN = 8, 8

#: Share of a processor from which on no lanes are added, as threads of Python take turns.
BUSY = 0.85

#: Refusals of one operation alone, and answers of others after the first of them, that show that it has a
#: limit of its own.
OWN, OTHERS = 4, 12


class Pace:
    """Decides how many lanes run, and when requests are sent. Thread-safe.

    `lanes` fixes their number; `requests_per_second` is a limit that is never raised (0: none). With
    `learns` false, answers change nothing."""

    def __init__(
        self,
        requests_per_second: float = 0.0,
        lanes: int | None = None,
        learns: bool = True,
        clock: Callable[[], float] | None = None,
        processor: Callable[[], float] = time.process_time,
    ) -> None:
        #: The number of lanes, and the most that there were.
        self.lanes = self.most = lanes or FIRST
        self._fixed, self._learns, self._bound = lanes is not None, learns, MOST
        # Looked up late, as tests replace it.
        self._clock, self._processor = clock or (lambda: time.monotonic()), processor
        self._change = threading.Condition()
        self.limit(requests_per_second)
        #: Operation -> a limit of its own.
        self.own: dict[str, Limit] = {}
        #: Operation -> refusals; how many were of no more at once than were taken before; and the number of
        #: answers of others since the first.
        self.refused: Counter[str] = Counter()
        self._fitting = self._others = 0
        #: Operation -> lowest latency, and the latencies of its answers since the last sample.
        self._lowest: dict[str, float] = {}
        self._samples: defaultdict[str, list[float]] = defaultdict(list)
        #: Operation -> the fewest lanes with which it was sampled.
        self._fewest: dict[str, int] = {}
        #: Operation and latency of the answers since the last decision about lanes.
        self._answers: list[tuple[str, float]] = []
        #: Number of lanes -> latency as a multiple of the lowest, as a mean of the last decisions. Where the
        #: machine is busy, it is above 1 with any number.
        self._usual: dict[int, float] = {}
        #: Number of lanes -> what they gain, as a multiple of one, likewise; and the number of decisions.
        self._gains: dict[int, float] = {}
        self._decisions = Counter[int]()
        #: The time of the last decision; from when on, and processor time then, answers count for the next.
        self._decided, self._counted = self._clock(), (self._clock(), self._processor())
        self._settling = 0
        #: True until answers first came later.
        self._doubling = True
        #: Decisions before the next lanes are added.
        self._rest, self._pauses = 0, REST
        #: Why there are not more lanes, in words; empty if not known.
        self.reason = ""

    def limit(self, requests_per_second: float) -> None:
        """Limits the rate of requests; 0 is no limit."""
        self._allowed = requests_per_second
        self.overall = Limit(requests_per_second, allowed=requests_per_second or math.inf)

    def stay(self) -> None:
        """Adds no more lanes, as the server refuses the accounts that they would work in."""
        with self._change:
            if self._bound == MOST:
                self._bound = self.lanes
                self.reason = "the server refused accounts for more"

    # ------------------------------------------------------------------ sending

    def enter(self, number: int, operation: str, left: float | None) -> Limit | None:
        """Waits until so many requests may be sent at once; returns the limit that they count for, None if
        that takes longer than the seconds left."""
        end = math.inf if left is None else self._clock() + left
        while True:
            with self._change:
                limit = self.own.get(operation, self.overall)
                due, changes = limit.reserve(number, self._clock()), limit.changes
            if due >= end:
                return None
            if (wait := due - self._clock()) > 0:
                time.sleep(wait)
            with limit.line, self._change:
                while not self.fits(limit, number) and limit.changes == changes:
                    if self._clock() >= end:
                        return None
                    most = min(end - self._clock(), limit.next_look(number))
                    self._change.wait(None if most == math.inf else most)
                if limit.changes == changes:
                    limit.begin(number)
                    return limit

    def fits(self, limit: Limit, number: int) -> bool:
        """True if so many more requests may be under way: as many as there are lanes, or a race."""
        if not self._learns:
            return True
        under_way = sum(each.under_way for each in (self.overall, *self.own.values()))
        return limit.fits(number, self._clock()) and (number > 1 or under_way < self.lanes)

    def leave(self, limit: Limit, exchange: Exchange, *, raced: bool = False) -> None:
        """Learns from the end of a request that counts for a limit."""
        with self._change:
            if not self._learns:
                limit.under_way -= 1
                return
            now, operation, counted_on = self._clock(), str(exchange.operation), limit.counted_on
            limit.ended(exchange, now - exchange.elapsed, now)
            if exchange.throttled:
                # A race is refused for its own number, whatever its operation.
                if not raced:
                    self.refused[operation] += 1
                    # Those beyond a number at once are refused for that.
                    learned = limit.rate not in (0, self._allowed)
                    fitting = learned or limit.under_way < limit.fitted < math.inf
                    self._fitting += fitting and limit.counted_on == counted_on
                    self._tell_apart(operation)
            else:
                self._others += bool(self.refused) and operation not in self.refused
                fresh = not raced and now - exchange.elapsed >= self._decided
                if not self._fixed and fresh and exchange.status is not None:
                    self._observe(operation, exchange.elapsed, now)
            self._change.notify_all()

    @property
    def at_once(self) -> float:
        """Maximum number of requests at once that the server takes, as far as it is known."""
        return min(limit.at_once for limit in (self.overall, *self.own.values()))

    @property
    def _unlimited(self) -> bool:
        """True unless a rate was learned, at which single requests were refused."""
        return all(limit.rate in (0, self._allowed) for limit in (self.overall, *self.own.values()))

    def _tell_apart(self, operation: str) -> None:
        """Finds a limit that binds one operation alone, so that others need not wait for it."""
        alone = self.refused.keys() == {operation} and operation not in self.own
        if alone and self._fitting >= OWN and self._others >= OTHERS:
            self.own[operation] = Limit()
            self.limit(self._allowed)
            self.refused.clear()
            self._others = self._fitting = 0

    # ------------------------------------------------------------------ in words

    def described(self) -> list[str]:
        """What was found of the server's pace, in sentences with the lines of the target file or the options
        that state it."""
        sentences = []
        if self.most > 1 and not self._fixed:
            reason = f"; {self.reason}" if self.reason else ""
            sentences.append(f"Tests ran in at most {self.most} lanes{reason}.")
        for operation, limit in [("", self.overall), *self.own.items()]:
            what = f"for {operation}" if operation else "for all requests"
            if limit.rate and limit.rate != self._allowed:
                # A higher one that is tried again is no limit yet.
                known = limit.fallback[0] if limit.fallback else limit.rate
                rate = f"{known:.2g}" if known < 10 else f"{known:.0f}"
                line = "" if operation else f": [limits] requests_per_second = {rate}"
                sentences.append(f"The server limits requests; the run kept to {rate} a second {what}{line}.")
            if limit.at_once < math.inf:
                line = "" if operation else f": --lanes {limit.fitted:.0f}"
                sentences.append(
                    f"The server takes {count(int(limit.fitted), 'request')} at once {what}{line}."
                )
        return sentences

    # ------------------------------------------------------------------ lanes

    def _observe(self, operation: str, latency: float, now: float) -> None:
        """Decides, from time to time, how many lanes there may be."""
        if self._settling:
            self._settling -= 1
            self._counted = now, self._processor()
            return
        samples = self._samples[operation]
        samples.append(latency)
        if len(samples) == SAMPLE:
            self._lowest[operation] = min(self._lowest.get(operation, math.inf), median(samples))
            self._fewest[operation] = min(self._fewest.get(operation, MOST), self.lanes)
            samples.clear()
        self._answers.append((operation, latency))
        if len(self._answers) >= max(AT_LEAST, EACH * self.lanes):
            self._decide(now)

    def _decide(self, now: float) -> None:
        """Adds lanes, or removes some, by what they gain and how many times later than at best answers
        come."""
        number = self.lanes
        later, work = self._measured()
        before, spent = self._counted
        self._counted = now, self._processor()
        seconds = max(now - before, 1e-6)
        share, gained = (self._counted[1] - spent) / seconds, work / seconds
        self._decisions[number] += 1
        for values, value in ((self._usual, later), (self._gains, gained)):
            usual = values.get(number, value)
            values[number] = usual + (value - usual) / min(MEAN, self._decisions[number])
        later = self._usual[number] / min(self._usual.values())
        best = max(self._gains, key=lambda lanes: self._gains[lanes])
        worse = number > best and self._gains[number] < LESS * self._gains[best]
        if worse and later > LATER:
            self.lanes = best
        for lanes in self._gains.keys() - {number}:
            # What was gained may be so no longer.
            self._gains[lanes] *= FADING
        if self.lanes < number:
            self._doubling, self.reason = False, "more made answers later"
            self._rest, self._pauses = self._pauses, min(2 * self._pauses, LONG_REST)
        elif self._rest:
            self._rest -= 1
        elif (
            later < SOON
            and not worse
            and share < BUSY
            and number < min(self._bound, self.at_once)
            and self._unlimited
        ):
            self.lanes = min(self._bound, number * 2 if self._doubling else number + 1)
            self.most = max(self.most, self.lanes)
            self.reason = "the most that a run has" if self.lanes == MOST else self.reason
        elif share >= BUSY and number < self._bound:
            self.reason = "more would have taken more than a processor"
        if self.lanes != number:
            # The first answers are of requests beside fewer others.
            self._decided, self._settling = now, self.lanes
            self._samples.clear()

    def _measured(self) -> tuple[float, float]:
        """How many times later than at best answers came since the last decision, and the seconds that they
        would have taken at best."""
        first = {operation: median(samples) for operation, samples in self._samples.items() if samples}
        # Above 0, though a clock is set back while a request is under way.
        lowest = {operation: max(1e-6, least) for operation, least in (first | self._lowest).items()}
        # What was sent only with so many lanes is no measure of what they cost.
        fewer = [each for each in self._answers if self._fewest.get(each[0], MOST) < self.lanes]
        ratios = sorted(
            (max(1.0, latency / lowest[operation]), lowest[operation])
            for operation, latency in (fewer if 2 * len(fewer) > len(self._answers) else self._answers)
        )
        # The median, as a machine that is busy delays some answers by much.
        weights = list(accumulate(least for _, least in ratios))
        later = ratios[bisect_left(weights, weights[-1] / 2)][0]
        work = sum(min(lowest[operation], latency / later) for operation, latency in self._answers)
        self._answers.clear()
        return later, work
