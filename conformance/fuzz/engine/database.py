"""Opens Hypothesis's example databases: a folder, a Redis server, a GitHub artifact.

Hypothesis is imported within functions, which takes 0.1 s: every run imports this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from conformance._files import InputError

if TYPE_CHECKING:
    from hypothesis.database import ExampleDatabase


def open_database(name: str | None) -> ExampleDatabase | None:
    """Opens a folder, `redis://HOST[:PORT][/N]` or `github:OWNER/REPOSITORY`; None or `none` opens nothing.

    The GitHub one reads the artifact of a workflow and keeps new examples in memory. Raises InputError.
    """
    if name is None or name.strip() in ("", "none"):
        return None
    from hypothesis.database import (
        DirectoryBasedExampleDatabase,
        GitHubArtifactDatabase,
        InMemoryExampleDatabase,
        MultiplexedDatabase,
        ReadOnlyDatabase,
    )

    if name.startswith(("redis://", "rediss://")):
        return _redis(name)
    if name.startswith("github:"):
        owner, separator, repository = name.removeprefix("github:").partition("/")
        if not owner or not separator or not repository or "/" in repository:
            raise InputError(f"{name}: a GitHub artifact database is named github:OWNER/REPOSITORY.")
        shared = ReadOnlyDatabase(GitHubArtifactDatabase(owner, repository))
        return MultiplexedDatabase(InMemoryExampleDatabase(), shared)
    if "://" in name:
        raise InputError(
            f"{name}: unknown kind of example database; "
            "name a folder, redis://HOST or github:OWNER/REPOSITORY."
        )
    return DirectoryBasedExampleDatabase(name)


def until_closed(database: ExampleDatabase | None, closed: Callable[[], bool]) -> ExampleDatabase | None:
    """Wraps a database so that it saves nothing once `closed`: when interrupted, Hypothesis saves the running
    example, although it did not fail."""
    if database is None:
        return None
    inner = database
    from hypothesis.database import ExampleDatabase

    class UntilClosed(ExampleDatabase):
        def fetch(self, key: bytes) -> Iterable[bytes]:
            return inner.fetch(key)

        def save(self, key: bytes, value: bytes) -> None:
            if not closed():
                inner.save(key, value)

        def delete(self, key: bytes, value: bytes) -> None:
            inner.delete(key, value)

    return UntilClosed()


def _redis(name: str) -> ExampleDatabase:
    try:
        from hypothesis.extra.redis import RedisExampleDatabase
        from redis import Redis
    except ImportError:
        raise InputError(
            f"{name}: the examples cannot be kept in Redis without its client; install the package redis."
        ) from None
    try:
        return RedisExampleDatabase(Redis.from_url(name))
    except (ValueError, OSError) as error:
        raise InputError(
            f"{name}: not an address of a Redis server ({error}); write redis://HOST:PORT/NUMBER."
        ) from None
