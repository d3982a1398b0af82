"""State in SQLite, safe for several threads and processes on one database file.

A file is opened in WAL mode, with a connection per thread; writers are serialized by BEGIN IMMEDIATE, so
decisions within `transaction()` are isolated from other writers. A committed transaction survives a crash of
the process. An in-memory database has one connection, guarded by a lock.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from conformance._files import InputError

#: Timeout of a writer waiting for the lock, in seconds.
LOCK_TIMEOUT = 30.0

SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE organizations (id TEXT PRIMARY KEY, api_key TEXT NOT NULL UNIQUE, secret TEXT NOT NULL)
  WITHOUT ROWID;
CREATE TABLE nonces (scope TEXT, nonce TEXT, expires INTEGER NOT NULL, PRIMARY KEY (scope, nonce))
  WITHOUT ROWID;
CREATE INDEX nonces_by_expiry ON nonces (expires);
CREATE TABLE answers (scope TEXT, key TEXT, fingerprint BLOB NOT NULL, status INTEGER NOT NULL,
  body BLOB NOT NULL, PRIMARY KEY (scope, key)) WITHOUT ROWID;
CREATE TABLE resources (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, parent TEXT,
  status TEXT, currency TEXT, created INTEGER NOT NULL, document TEXT NOT NULL);
CREATE INDEX resources_by_parent ON resources (kind, parent);
CREATE TABLE wallet_pairs (account TEXT, currency TEXT, network TEXT,
  PRIMARY KEY (account, currency, network)) WITHOUT ROWID;
CREATE TABLE balances (account TEXT, currency TEXT, currency_type TEXT NOT NULL, available TEXT NOT NULL,
  pending_payout TEXT NOT NULL, pending_payin TEXT NOT NULL, updated INTEGER NOT NULL,
  PRIMARY KEY (account, currency)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class OrganizationRow:
    """An organization and its only key pair."""

    id: str
    api_key: str
    secret: str


class Answer(NamedTuple):
    """The stored answer to the first request with an idempotency key."""

    fingerprint: bytes
    status: int
    body: bytes


class Balance(NamedTuple):
    """The balance of an account in one currency; amounts are decimal strings, `updated` is in
    microseconds."""

    currency: str
    currency_type: str
    available: str
    pending_payout: str
    pending_payin: str
    updated: int


class Condition(NamedTuple):
    """A condition on a column of resources: `created` (microseconds), `status`, `currency` or `id`.

    `operator` is =, <, <=, >, >= or IN, whose `value` is a sequence.
    """

    column: str
    operator: str
    value: Any


class Store:
    """The database at `path`; None for one in memory.

    Raises InputError if the file cannot be opened, or is not a database of this server.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._lock = threading.RLock() if path is None else None
        self._guard: contextlib.AbstractContextManager[Any] = self._lock or contextlib.nullcontext()
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._shared = self._connect() if path is None else None
        try:
            if path is not None:
                _check_usable(path)
            with self.transaction():
                self._create_tables()
        except (sqlite3.Error, OSError) as error:
            self.close()
            cause = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"{path}: the database cannot be used: {cause}.") from None

    # ------------------------------------------------------------------ connections

    def _connect(self) -> sqlite3.Connection:
        name = ":memory:" if self.path is None else str(self.path)
        connection = sqlite3.connect(name, isolation_level=None, check_same_thread=False)
        self._connections.append(connection)
        if self.path is not None:
            connection.execute("PRAGMA busy_timeout = 0")
            # WAL mode is persistent; setting it needs an unlocked database.
            _patiently(connection, "PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._shared is not None:
            return self._shared
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        return connection

    def _create_tables(self) -> None:
        if self.query("PRAGMA user_version") == [(SCHEMA_VERSION,)]:
            return
        for statement in _SCHEMA.split(";"):
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def close(self) -> None:
        """Closes all connections; the store cannot be used afterwards."""
        with self._guard:
            while self._connections:
                self._connections.pop().close()

    # ------------------------------------------------------------------ statements

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Runs the statements inside as one isolated transaction."""
        with self._guard:
            connection = self._connection
            _patiently(connection, "BEGIN IMMEDIATE")
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        with self._guard:
            return _patiently(self._connection, sql, values).fetchall()

    def change(self, sql: str, *values: Any) -> int:
        """Runs a statement that writes; returns the number of changed rows."""
        with self._guard:
            return _patiently(self._connection, sql, values).rowcount

    # ------------------------------------------------------------------ organizations

    def add_organization(self, organization: OrganizationRow) -> None:
        self.change(
            "INSERT INTO organizations VALUES (?, ?, ?)",
            organization.id,
            organization.api_key,
            organization.secret,
        )

    def organization(self, api_key: str) -> OrganizationRow | None:
        rows = self.query("SELECT id, api_key, secret FROM organizations WHERE api_key = ?", api_key)
        return OrganizationRow(*rows[0]) if rows else None

    @property
    def seeded(self) -> str | None:
        """What the store was filled with first, as its writer describes it."""
        rows = self.query("SELECT value FROM meta WHERE name = 'seeded'")
        return rows[0][0] if rows else None

    @seeded.setter
    def seeded(self, value: str) -> None:
        self.change("INSERT OR REPLACE INTO meta VALUES ('seeded', ?)", value)

    # ------------------------------------------------------------------ nonces

    def claim_nonce(self, scope: str, nonce: str, now: int, expires: int) -> bool:
        """Records a nonce until `expires`; False if it is recorded and not expired."""
        sql = (
            "INSERT INTO nonces VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET expires = excluded.expires "
            "WHERE nonces.expires <= ?"
        )
        return self.change(sql, scope, nonce, expires, now) == 1

    def prune_nonces(self, now: int) -> int:
        """Deletes expired nonces; returns their number."""
        return self.change("DELETE FROM nonces WHERE expires <= ?", now)

    # ------------------------------------------------------------------ answers to idempotency keys

    def answer(self, scope: str, key: str) -> Answer | None:
        rows = self.query(
            "SELECT fingerprint, status, body FROM answers WHERE scope = ? AND key = ?", scope, key
        )
        return Answer(*rows[0]) if rows else None

    def keep_answer(self, scope: str, key: str, answer: Answer) -> None:
        self.change("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", scope, key, *answer)

    # ------------------------------------------------------------------ resources

    def insert(self, kind: str, record: dict[str, Any]) -> None:
        """Adds a record with at least `id`, `parent` and `created`."""
        self.change(
            "INSERT INTO resources (id, kind, parent, status, currency, created, document) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            record["id"],
            kind,
            record["parent"],
            *_columns(record),
            record["created"],
            json.dumps(record),
        )

    def update(self, record: dict[str, Any]) -> None:
        """Replaces a record, but not its kind, parent and position in lists."""
        self.change(
            "UPDATE resources SET status = ?, currency = ?, document = ? WHERE id = ?",
            *_columns(record),
            json.dumps(record),
            record["id"],
        )

    def get(self, kind: str, identifier: str) -> dict[str, Any] | None:
        rows = self.query("SELECT document FROM resources WHERE id = ? AND kind = ?", identifier, kind)
        return json.loads(rows[0][0]) if rows else None

    def count(self, kind: str, parent: str | None, conditions: Iterable[Condition] = ()) -> int:
        where, values = _where(kind, parent, conditions)
        total: int = self.query(f"SELECT COUNT(*) FROM resources WHERE {where}", *values)[0][0]
        return total

    def select(
        self,
        kind: str,
        parent: str | None,
        conditions: Iterable[Condition] = (),
        *,
        newest_first: bool = False,
        limit: int = -1,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """The records of a kind under a parent (None: any), in the order of creation."""
        where, values = _where(kind, parent, conditions)
        order = "DESC" if newest_first else "ASC"
        rows = self.query(
            f"SELECT document FROM resources WHERE {where} ORDER BY seq {order} LIMIT ? OFFSET ?",
            *values,
            limit,
            offset,
        )
        return [json.loads(row[0]) for row in rows]

    # ------------------------------------------------------------------ wallets and money

    def claim_wallet_pair(self, account: str, currency: str, network: str) -> bool:
        """Reserves a currency and network in an account; False if the account has the pair."""
        sql = "INSERT OR IGNORE INTO wallet_pairs VALUES (?, ?, ?)"
        return self.change(sql, account, currency, network) == 1

    def balances(self, account: str) -> list[Balance]:
        rows = self.query(
            "SELECT currency, currency_type, available, pending_payout, pending_payin, updated "
            "FROM balances WHERE account = ? ORDER BY currency",
            account,
        )
        return [Balance(*row) for row in rows]

    def set_balance(self, account: str, balance: Balance) -> None:
        self.change("INSERT OR REPLACE INTO balances VALUES (?, ?, ?, ?, ?, ?, ?)", account, *balance)


def _check_usable(path: Path) -> None:
    """Checks that a file is new or of this server, before changing it; creates a new one readable only by its
    owner, as it contains secrets."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # In this order: another process may create the tables meanwhile, together with the version.
        tables = _patiently(connection, "SELECT COUNT(*) FROM sqlite_schema").fetchone()[0]
        version = _patiently(connection, "PRAGMA user_version").fetchone()[0]
    if version != SCHEMA_VERSION and (version or tables):
        raise InputError(f"{path}: this database is not one of this server's; choose another file.")


def _patiently(connection: sqlite3.Connection, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
    """Runs a statement, retrying while the database is locked: in shorter intervals than SQLite's own busy
    handler, which does not cover every lock. Raises sqlite3.OperationalError after LOCK_TIMEOUT."""
    deadline = 0.0
    while True:
        try:
            return connection.execute(statement, values)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            now = time.monotonic()
            deadline = deadline or now + LOCK_TIMEOUT
            if now > deadline:
                raise
        time.sleep(0.0003)


def _columns(record: dict[str, Any]) -> Iterator[str | None]:
    """Yields the values of the columns status and currency."""
    for name in ("status", "currency"):
        yield record[name] if isinstance(record.get(name), str) else None


_COLUMNS = frozenset({"created", "status", "currency", "id"})
_OPERATORS = frozenset({"=", "<", "<=", ">", ">=", "IN"})


def _where(kind: str, parent: str | None, conditions: Iterable[Condition]) -> tuple[str, list[Any]]:
    terms, values = ["kind = ?"], [kind]
    if parent is not None:
        terms.append("parent = ?")
        values.append(parent)
    for column, operator, value in conditions:
        # Names are interpolated into the statement, so only known ones are allowed.
        if column not in _COLUMNS or operator not in _OPERATORS:
            raise ValueError(f"no such condition: {column} {operator}")
        if operator == "IN":
            terms.append(f"{column} IN ({', '.join('?' * len(value))})")
            values.extend(value)
        else:
            terms.append(f"{column} {operator} ?")
            values.append(value)
    return " AND ".join(terms), values
