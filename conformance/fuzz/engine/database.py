"""Hypothesis's example databases by what the user names them: a folder, a Redis server, a GitHub artifact.

Functions import Hypothesis, which takes 0.1 s: every run imports this module, few open a database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from conformance._files import InputError

if TYPE_CHECKING:
    from hypothesis.database import ExampleDatabase


def open_database(name: str | None) -> ExampleDatabase | None:
    """The database of a folder, of `redis://HOST[:PORT][/N]`, or of `github:OWNER/REPOSITORY`.

    The last one reads the examples that a workflow uploaded as an artifact and keeps new ones in memory only.
    None and the word none open none. Raises InputError.
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
    """The database, which takes nothing any more once it is closed: Hypothesis keeps the example that it is
    running when it is interrupted, although that did not fail."""
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
