"""Private data of an organization, which no refusal may show to another one (section 5.5)."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from conformance.checks.check import CheckContext
from conformance.contract import timestamps
from conformance.contract.fields import documented
from conformance.contract.json_text import all_objects, all_texts
from conformance.judge.comparison import document, same, sent_document
from conformance.judge.outcomes import Got, Unclear, unusable
from conformance.judge.verdicts import Inconclusive
from conformance.wire.messages import Exchange
from conformance.world.account import Account

LEAK = "tenancy.no-leak"

#: Minimum length of a private text: shorter ones may occur by chance.
_TELLING = 6

#: Minimum length of a member's text that a part of the request may explain: not of a country.
_SHORTEST = 3


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
        if reason := unusable(answer):
            return reason
        if not answer.refused:
            told = f"{answer.purpose} was answered {answer.described()}, not refused"
            return Unclear(told, "tenancy.foreign-parent")
        found = _fact_in(answer, self._facts) or _member_in(answer, self._documents)
        return f"{answer.status} that shows {found}" if found else ""


def _fact_in(answer: Exchange, facts: Sequence[str]) -> str:
    """Describes a private text that an answer shows and the request did not contain; empty if none."""
    sent = _sent(answer)
    shown = list(all_texts(answer.document)) or [answer.response_body.decode("utf-8", "replace")]
    shown += [value for _, value in answer.response_headers]
    for fact in facts:
        if fact not in sent and any(fact in text for text in shown):
            return f"{fact[:60]!r} of the other's resource"
    return ""


def _member_in(answer: Exchange, documents: Sequence[dict[str, Any]]) -> str:
    """Describes a member that an answer shares with the documents, value included; empty if none."""
    sent, given = _sent(answer), set(all_texts(sent_document(answer.call)))
    members = [member for shown in all_objects(answer.document) for member in shown.items()]
    for name, value in members:
        if value in (None, "", [], {}):
            continue
        quoted = isinstance(value, str) and len(value) >= _SHORTEST and value in sent
        if isinstance(value, str) and (value in given or quoted or _may_be_now(value)):
            continue
        if any(name in private and same(private[name], value) for private in documents):
            return f"the member {name[:60]!r} of the other's resource"
    return ""


def _documented(made: Exchange) -> dict[str, Any]:
    names = documented(made.operation or "")
    return {name: value for name, value in document(made).items() if name in names}


def _sent(answer: Exchange) -> str:
    return answer.call.target + "\n" + (answer.call.body or b"").decode("utf-8", "replace")


def _created(fixture: Account) -> list[Exchange]:
    """Returns the exchanges that created a fixture's resources, those that the server accepts."""
    found = []
    for part in ("account", "beneficiary", "destination", "virtual_account"):
        with contextlib.suppress(Inconclusive):
            found.append(getattr(fixture, part))
    return found


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
