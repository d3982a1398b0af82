"""Errors of a transport, named as httpx names them: reports show the names."""

from __future__ import annotations


class TransportError(Exception):
    """A request got no whole answer."""


class TimedOut(TransportError):
    """A limit of time was exceeded."""


class ConnectTimeout(TimedOut):
    """The server did not take the connection in time."""


class WriteTimeout(TimedOut):
    """The server did not take the request in time."""


class ReadTimeout(TimedOut):
    """The answer did not come in time."""


class ConnectError(TransportError):
    """No connection could be opened."""


class ReadError(TransportError):
    """A connection broke within the answer."""


class HungUp(TransportError):
    """The caller hung up, on purpose."""


class LocalProtocolError(TransportError):
    """A request is not valid HTTP."""


class RemoteProtocolError(TransportError):
    """An answer is not whole, or not HTTP."""


class NotHttp(RemoteProtocolError):
    """An answer is not HTTP: sent again, the request would be answered no better."""
