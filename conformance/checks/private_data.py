"""Private data, which no answer may show: numbers of destinations, and what belongs to another organization
(sections 2.4 and 5.5)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

from conformance.checks.check import CheckContext
from conformance.contract import timestamps
from conformance.contract.fields import documented
from conformance.contract.json_text import all_objects, all_texts
from conformance.judge.comparison import document, same, sent_document
from conformance.judge.hidden_numbers import HIDDEN_FIELDS, squeezed
from conformance.judge.outcomes import Got, Unclear, unusable
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Exchange
from conformance.world.run import Account

LEAK = "tenancy.no-leak"

#: Minimum length of a private text: shorter ones may occur by chance.
_TELLING = 6

#: Minimum length of a member's text that a part of the request may explain: not of a country.
_SHORTEST = 3


def numbers_of(created: Iterable[Exchange]) -> list[tuple[str, str]]:
    """Field and value of each number that no answer may show in full."""
    sent = [(name, each.call.document.get(name)) for each in created for name in HIDDEN_FIELDS]
    # A number below 8 characters may occur by chance.
    return [(name, squeezed(value)) for name, value in sent if isinstance(value, str) and len(value) >= 8]


class PrivateData:
    """Private texts of an account's resources, from documented members only: a server may add others to all
    answers.

    `exchanges` created the resources of the fixture, then those of the stranger's fixture."""

    def __init__(self, fixture: Account, stranger: Account) -> None:
        private, known = _created(fixture), _created(stranger)
        self.exchanges = [*private, *known]
        self._documents = [_documented(exchange) for exchange in private]
        texts = {fixture.customer_id, fixture.client.organization.api_key, *all_texts(self._documents)}
        # A text in resources of both organizations is a constant.
        texts -= {stranger.customer_id, *all_texts([_documented(exchange) for exchange in known])}
        self._facts = sorted(text for text in texts if len(text) >= _TELLING and not _may_be_now(text))

    def shown_in(self, answer: Exchange) -> Got:
        """Describes what a refusal shows of the data that the caller may not see; empty for nothing."""
        if lost := unusable(answer):
            return lost
        if not answer.refused:
            reason = f"{answer.purpose} was answered {answer.described()}, not refused"
            return Unclear(reason, "tenancy.foreign-parent")
        leaked = self._fact_in(answer) or self._member_in(answer)
        return f"{answer.status} that shows {leaked}" if leaked else ""

    def _fact_in(self, answer: Exchange) -> str:
        """Describes a private text that an answer shows and the request did not contain; empty if none."""
        sent = _sent(answer)
        texts = list(all_texts(answer.document)) or [answer.response_body.decode("utf-8", "replace")]
        texts += [value for _, value in answer.response_headers]
        for fact in self._facts:
            if fact not in sent and any(fact in text for text in texts):
                return f"{fact[:60]!r} of the other's resource"
        return ""

    def _member_in(self, answer: Exchange) -> str:
        """Describes a member that an answer shares with a resource, value included; empty if none."""
        sent, texts = _sent(answer), set(all_texts(sent_document(answer.call)))
        members = [member for each in all_objects(answer.document) for member in each.items()]
        for name, value in members:
            if value in (None, "", [], {}):
                continue
            quoted = isinstance(value, str) and len(value) >= _SHORTEST and value in sent
            if isinstance(value, str) and (value in texts or quoted or _may_be_now(value)):
                continue
            if any(name in private and same(private[name], value) for private in self._documents):
                return f"the member {name[:60]!r} of the other's resource"
        return ""


def _documented(create: Exchange) -> dict[str, Any]:
    names = documented(create.operation or "")
    return {name: value for name, value in document(create).items() if name in names}


def _sent(answer: Exchange) -> str:
    return answer.call.target + "\n" + (answer.call.body or b"").decode("utf-8", "replace")


def _created(fixture: Account) -> list[Exchange]:
    """Returns the exchanges that created a fixture's resources, those that the server accepts."""
    created = []
    for part in ("account", "beneficiary", "destination", "virtual_account"):
        with contextlib.suppress(Inconclusive):
            created.append(getattr(fixture, part))
    return created


def _may_be_now(text: str) -> bool:
    """True for an instant of a whole second: it may be the present, which any answer may show."""
    step = timestamps.step(text)
    return step is not None and step >= 1


def between_organizations(ctx: CheckContext) -> dict[str, PrivateData]:
    """Organization -> private data of the other one, created if need be; empty without another one."""
    if LEAK not in ctx.rules or ctx.target.secondary is None:
        return {}
    own, foreign = ctx.run.account("tenant"), ctx.run.account("tenant", "secondary")
    return {"primary": PrivateData(foreign, own), "secondary": PrivateData(own, foreign)}
