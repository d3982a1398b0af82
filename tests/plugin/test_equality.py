"""Verdicts do not depend on how a run is distributed; `python -m tests.prove equality` tries more."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import httpx
import pytest

from conformance.reference.behaviour import Behaviour
from conformance.reference.context import Context, Record
from tests.prove import equality
from tests.prove.equality import Judged, differences, serving_behaviour
from tests.variants.catalogue import VARIANTS
from tests.variants.serving import serving
from tests.variants.surroundings import Between
from tests.variants.variant import Variant

#: Narrowed to one operation, so that a run takes seconds.
OPTIONS = ("--operation", "getVirtualAccount", "-m", "not fuzz")


class SlipsOnRead(Behaviour):
    """Shows another label than the stored one."""

    def members(self, ctx: Context, kind: str, record: Record) -> dict[str, object]:
        shown = super().members(ctx, kind, record)
        return {**shown, "label": "Eve"} if ctx.operation == "getVirtualAccount" else shown


def test_verdicts_do_not_depend_on_lanes_or_processes(tmp_path: Path) -> None:
    judged = Judged("slips", lambda: serving_behaviour(SlipsOnRead()))
    spreads = ("one lane", "16 lanes", "-n 2")
    assert list(differences(judged, OPTIONS, spreads, tmp_path)) == []


@pytest.mark.parametrize(
    ("verdicts", "conforming", "lines"),
    [
        (["passed", "passed"], True, []),
        (["passed", "failed"], False, ["rule on get: passed with one lane, failed with 16 lanes"]),
        (["failed", "failed"], False, []),
        (["failed", "failed"], True, ["rule on get: failed, on a conforming server"]),
    ],
)
def test_differing_verdicts_and_blame_are_listed(
    verdicts: list[str], conforming: bool, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ({("rule", "get"): verdict} for verdict in verdicts)
    monkeypatch.setattr(equality, "verdicts", lambda *given: next(found))
    judged = Judged("one", lambda: nullcontext({}), conforming)
    assert list(differences(judged, (), ("one lane", "16 lanes"), Path())) == lines


class ClosesSecond(Between):
    """Closes a connection that is used a second time, without an answer."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if not request.extensions["fresh_connection"]:
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
        target = request.extensions["target"].decode()
        return httpx.Response(200, json=[request.method, target, request.read().decode()])


def test_proxies_of_variants_are_served() -> None:
    with serving(Variant("closes", (), wrap=ClosesSecond)) as tables, httpx.Client() as client:
        url = f"{tables['base_url']}/v1//x?a=%2F"
        assert client.post(url, content=b"5").json() == ["POST", "/v1//x?a=%2F", "5"]
        with pytest.raises(httpx.RemoteProtocolError):
            client.get(url)
        assert client.head(url).status_code == 200
    (without,) = (variant for variant in VARIANTS if variant.name == "payins off")
    with serving(without) as tables:
        assert tables["features"] == {"payins": False}
        assert httpx.post(f"{tables['base_url']}/payins").status_code == 501
