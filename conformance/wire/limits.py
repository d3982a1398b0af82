"""What a server sets to requests, a second and at once, learned from those that it refuses for their number
(429, or 503 with Retry-After)."""

from __future__ import annotations

import math
import re
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from itertools import takewhile

from conformance.contract.timestamps import http_date
from conformance.wire.messages import Exchange

#: Factors of a rate: after a refusal; after a time without one, below a rate that was refused, and where none
#: is known; of one that was observed or announced.
DOWN, UP, FAST, MARGIN = 0.85, 1.25, 1.5, 0.95

#: Seconds without a refusal after which a limit is raised, and after which it is first tried again where
#: requests were refused.
QUIET, RETRIAL = 1.0, 30.0

#: A limit that is lowered so often, each time within so many seconds or answers of the last, is none where
#: far fewer requests, at once or in the time between two refusals, are refused than were taken before. What a
#: bucket of tokens takes in a time stays the same.
MOST_LOWERED, SETTLED, SETTLED_ANSWERS = 3, 10.0, 300

#: Maximum seconds for which requests wait between two answers. A server that asks for more is not waited for:
#: each request is sent, and refused by itself.
LONGEST = 120.0

#: Seconds for which a server may count a request on that it has answered, at most.
COUNTED_ON = 0.01

#: The lowest rate to learn, in requests a second.
SLOWEST = 0.5

#: The part of a rate that must have been used before it is raised.
BINDING = 0.7

#: The rate to begin with where no answer came in the last second.
GUESS = 4.0

#: Announced limits (draft-ietf-httpapi-ratelimit-headers): requests, and the seconds that they are for.
_POLICY = re.compile(r"(?:\bq=)?(\d+)[^,]*?;\s*w=(\d+)")


@dataclass
class Limit:
    """A limit of the server, as far as it is known: requests a second (0: none), and requests at once."""

    rate: float = 0.0
    at_once: float = math.inf
    #: The rate that the user allows.
    allowed: float = math.inf
    #: Where requests were refused last.
    rate_refused: float = math.inf
    at_once_refused: float = math.inf
    #: False from a refusal, at the time `closed`, until a request sent alone behind it (True while `probed`)
    #: shows what was refused: a number at once if it is taken, else a number in a time.
    open: bool = True
    closed: float = 0.0
    probed: bool = False
    #: The number at once that the server took beside those refused; 0 until an answer shows it.
    taken: int = 0
    #: The number at once that the server has taken without a refusal.
    fitted: float = math.inf
    #: Seconds for which an answered request counts as under way.
    counted_on: float = 0.0
    #: Answers that arrived while the request that was refused last was under way.
    beside: int = 0
    #: When a request ended without an answer, on which the server may still be at work.
    abandoned: float = -math.inf
    #: When the next request is due.
    due: float = 0.0
    under_way: int = 0
    #: The most that were under way since the limit was last changed, or could have been raised.
    peak: int = 0
    #: Number of changes; who has waited under an earlier limit reserves anew.
    changes: int = 0
    #: When the limit was last lowered, and answers since.
    last: float = 0.0
    answered: int = 0
    #: When the rate was last refused.
    refused: float = 0.0
    #: Since when nothing was refused, and the times of answers in the last second.
    since: float = 0.0
    answers: deque[float] = field(default_factory=deque)
    raised: float = 0.0
    retrial: float = RETRIAL
    #: The rate and the refused one before a higher one was tried again.
    fallback: tuple[float, float] | None = None
    #: How often the limit was lowered soon after another time, and the most that was taken since: requests at
    #: once, or a second where those have no limit.
    lowered: int = 0
    first: float = math.inf
    #: True where refusals do not depend on the limit.
    unrelated: bool = False
    #: Seconds waited since the last answer.
    waited: float = 0.0
    #: Held by the first of those that wait for it, so that a race is not overtaken by single requests.
    line: threading.Lock = field(default_factory=threading.Lock)

    @property
    def known(self) -> bool:
        """True if the server, or the user, limits requests."""
        return bool(self.rate) or self.at_once < math.inf

    def reserve(self, number: int, now: float) -> float:
        """Reserves the sending of so many requests at once; returns when they are due."""
        self._raise(now)
        if not self.rate:
            return now
        due = max(now, self.due) + (number - 1) / self.rate
        self.due = due + 1 / self.rate
        return due

    def fits(self, number: int, now: float) -> bool:
        """True if so many more requests may be under way."""
        if not self.open and self.taken and now - self.closed > QUIET:
            # Those under way take too long to wait for their end.
            self._take(now)
        under_way = self.under_way + self._since(now - self.counted_on)
        return not under_way or (self.open and under_way + number <= self.at_once)

    def next_look(self, number: int) -> float:
        """Seconds after which so many more requests may fit though none has ended."""
        if not self.open:
            return QUIET
        return self.counted_on if self.counted_on and self.under_way + number <= self.at_once else math.inf

    def begin(self, number: int) -> None:
        """Counts requests that are sent at once."""
        self.under_way += number
        self.peak = max(self.peak, self.under_way)
        self.probed = not self.open

    def ended(self, exchange: Exchange, began: float, now: float) -> None:
        """Counts the end of a request that began at a time."""
        self.under_way -= 1
        if exchange.throttled:
            self._refused(exchange, began, now)
        else:
            if exchange.status is None:
                self.abandoned = now
            self.waited = 0.0
            self.answered += 1
            self.answers.append(now)
            while self.answers[0] < now - 1:
                self.answers.popleft()
        if not self.open and not exchange.throttled:
            self.taken = self.taken or self.under_way + 1 + self.beside
            if self.probed:
                self._take(now)

    def _refused(self, exchange: Exchange, began: float, now: float) -> None:
        learned = self.rate not in (0, self.allowed)
        # It was refused for those, too, whose answers were read before its own.
        beside = self._since(began)
        seconds = retry_after(exchange)
        alone = self.probed and not self.under_way
        if self.taken and not self.open and began < self.closed:
            self.taken = max(1, self.taken - 1)
        if self.unrelated or seconds == 0 or not (self.open or alone) or began < self.since:
            # Sent before the limit was changed, or whatever it is.
            return
        self.open = True
        seconds = QUIET if seconds is None else seconds
        if self.waited + seconds > LONGEST:
            self._lift()
            return
        if rate := announced(exchange):
            self.rate, self.rate_refused = min(MARGIN * rate, self.allowed), rate
        elif learned and self.fallback:
            (self.rate, self.rate_refused), self.fallback = self.fallback, None
        elif learned and (self.waited or self._settled(now)):
            # Nothing was answered since the last refusal, whatever the rate: the server is out of service; or
            # so much that it may have been so.
            pass
        elif learned:
            observed = self._since(now - 1)
            self.rate_refused = min(self.rate, observed) if observed > 1 else self.rate
            self.rate = max(SLOWEST, min(DOWN * self.rate, MARGIN * self.rate_refused))
        elif not alone and (self.under_way or beside):
            # Of those beside it, some may have begun after others had ended.
            number = min(self.under_way + beside + 1, self.peak)
            fitting = number <= self.fitted < math.inf
            if fitting and now - self.abandoned < QUIET:
                return
            late = self._since(began - COUNTED_ON) - beside
            if fitting and number + late > self.fitted and self.counted_on < COUNTED_ON:
                # The server may still have counted a request that it had answered.
                self.counted_on = min(COUNTED_ON, max(4 * self.counted_on, COUNTED_ON / 4))
                return
            self.open, self.closed, self.probed, self.taken, self.beside = False, now, False, 0, beside
            # As many fitted before: others may use the server. Twice in a row it takes fewer.
            if not fitting or now - self.last < SETTLED:
                self.at_once_refused = number
                self.counted_on = 0.0 if fitting else self.counted_on
            return
        else:
            # Alone, it was refused for those before it.
            observed = self._since(now - 1)
            self.rate = min(MARGIN * (observed or GUESS), self.allowed)
            self.rate_refused, self.at_once, self.at_once_refused = observed or math.inf, math.inf, math.inf
            self.lowered = 0
        # Nothing is sent until the server may take requests again.
        self.waited += seconds
        self.due = now + seconds
        taken, self.refused = self.answered / max(now - self.refused, 1e-6), now
        self._changed(self.due, taken)

    def _take(self, now: float) -> None:
        """Limits requests at once to the number that was taken."""
        self.open, self.at_once = True, max(1, self.taken - self.taken // 8)
        if self.at_once_refused <= self.fitted:
            self.fitted = self.at_once
        # Others may be refused for the same reason.
        self._changed(now + QUIET / 4 if self.at_once > 1 else now)

    def _since(self, when: float) -> int:
        """The number of answers since a time, at most a second ago."""
        return sum(1 for _ in takewhile(lambda answer: answer > when, reversed(self.answers)))

    def _settled(self, now: float) -> bool:
        """True if the limit has held for so long that few of the requests are refused."""
        return now - self.last > SETTLED and self.answered > SETTLED_ANSWERS

    def _changed(self, now: float, taken: float = 0.0) -> None:
        """Notes a lower limit, and what was `taken` a second since the last refusal; lifts what is none."""
        by_rate = self.at_once == math.inf
        # Where nothing was taken, the server may be out of service.
        low = 0 < taken < self.first / 2 if by_rate else self.at_once < self.first / 4
        if self.lowered == 0 or self._settled(now):
            # What was taken before the first refusal may have been saved up.
            self.lowered, self.first, low = 1, 0.0 if by_rate else self.at_once_refused, False
        elif now - self.last > QUIET:
            self.lowered += 1
            self.first = max(self.first, taken)
        self.last = self.since = self.raised = now
        self.answered = 0
        self.peak = self.under_way
        self.changes += 1
        if self.lowered > MOST_LOWERED and low:
            self._lift()

    def _lift(self) -> None:
        """Holds nothing back any more but what the user limits."""
        self.rate, self.at_once = (0.0 if self.allowed == math.inf else self.allowed), math.inf
        self.due, self.unrelated = 0.0, True
        self.changes += 1

    def _raise(self, now: float) -> None:
        """Raises the limit after a time without refusals."""
        if not self.rate and self.at_once == math.inf:
            return
        if now - self.since > self.retrial:
            # Without a rate there is none to fall back to.
            self.fallback = (self.rate, self.rate_refused) if self.rate else None
            self.rate_refused = self.at_once_refused = math.inf
            self.retrial *= 2
            self.since = now
        if now - self.raised > QUIET:
            self.raised = now
            # A limit that binds nobody would be raised in vain.
            if self._since(now - 1) > BINDING * self.rate:
                up = FAST if self.rate_refused == math.inf else UP
                self.rate = max(self.rate, min(up * self.rate, MARGIN * self.rate_refused, self.allowed))
            if self.peak >= self.at_once or self.at_once < self.fitted:
                self.fitted = max(self.fitted, self.at_once)
                self.at_once = max(self.at_once, min(self.at_once + 1, self.at_once_refused - 1))
            self.peak = self.under_way


def retry_after(exchange: Exchange) -> float | None:
    """Seconds after which an answer asks to send again; None where it says nothing of it."""
    value = exchange.header("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        date = http_date(value)
        return None if date is None else max(0.0, date - time.time())


def announced(exchange: Exchange) -> float:
    """Requests a second by the headers of an answer; 0 where it announces none."""
    policy = exchange.header("ratelimit-policy") or exchange.header("ratelimit-limit") or ""
    rates = [int(number) / int(window) for number, window in _POLICY.findall(policy) if int(window)]
    return min((rate for rate in rates if rate), default=0.0)
