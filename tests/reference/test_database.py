"""Processes that open one new database at a time agree on what it holds."""

from __future__ import annotations

import contextlib
import multiprocessing
from pathlib import Path
from typing import Any

from conformance.reference.seed import seed
from conformance.reference.store import Store


def _open(paths: list[Path], together: Any, answers: Any) -> None:
    for path in paths:
        together.wait(30)
        try:
            with contextlib.closing(Store(path)) as store:
                answers.put((path, seed(store).primary.api_key))
        except Exception as error:
            answers.put((path, repr(error)))


def test_processes_agree_on_a_new_database(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    paths, processes = [tmp_path / f"{number}.sqlite3" for number in range(15)], 4
    together, answers = spawn.Barrier(processes), spawn.Queue()
    workers = [spawn.Process(target=_open, args=(paths, together, answers)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    found = {answers.get(timeout=60) for _ in workers for _ in paths}
    for worker in workers:
        worker.join()
    assert {path for path, _ in found} == set(paths) and len(found) == len(paths), found
    assert all(key.startswith("key_") for _, key in found)
