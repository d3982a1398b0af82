"""Servers that lose requests on the way, or read requests as only some clients send them."""

from __future__ import annotations

from conformance.reference.context import Context
from conformance.reference.messages import Response

from .catalogue import fault
from .crashes import Finishes
from .harness import NO_ANSWER


@fault("http.lost-requests", each=(8, 40))
class LosesSome(Finishes):
    """One of so many requests is not answered; sent once more, it is."""

    def finished(self, ctx: Context, response: Response) -> Response:
        answered = self.__dict__["answered"] = self.__dict__.get("answered", 0) + 1
        return response.with_header(NO_ANSWER, b"1") if answered % self.value == 0 else response
