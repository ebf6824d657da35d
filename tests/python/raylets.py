"""A Ray cluster of several nodes, which are raylets of this machine."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from helpers import free_port

NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_log_monitor": False}
MARK = "INCAST_TEST_CLUSTER"
CLIENT = "INCAST_TEST_RAY_CLIENT"


@contextmanager
def started(nodes: int, client: bool = False) -> Iterator[Any]:
    """Nodes with a processor each; `auto` finds them, and a client, where asked, the address that CLIENT names."""
    pytest.importorskip("ray", reason="Ray is not installed: the extra 'ray' has it")
    import ray
    from ray.cluster_utils import Cluster as Raylets

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MARK, uuid.uuid4().hex)
        # Otherwise members give way to everything else on a busy machine.
        patch.setenv("RAY_worker_niceness", "0")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        raylets = Raylets()
        port = free_port() if client else None
        if client:
            patch.setenv(CLIENT, f"ray://127.0.0.1:{port}")
        raylets.add_node(include_dashboard=False, no_monitor=True, ray_client_server_port=port, **NODE)
        for _ in range(nodes - 1):
            raylets.add_node(**NODE)
        patch.setenv("RAY_ADDRESS", raylets.address)
        yield raylets
        ray.shutdown()
        raylets.shutdown()


def members() -> list[int]:
    """The processes of members on the nodes of this test, and of nobody else."""
    return _processes(lambda words: words.startswith(b"ray::Member"))


def servers_of_clients() -> list[int]:
    """The processes that serve one client each."""
    return _processes(lambda words: b"--mode=specific-server" in words)


def _processes(wanted: Callable[[bytes], bool]) -> list[int]:
    mark = f"{MARK}={os.environ[MARK]}".encode()

    def is_ours(process: Path) -> bool:
        try:
            words, environment = ((process / each).read_bytes() for each in ("cmdline", "environ"))
        except OSError:
            return False
        return wanted(words) and mark in environment

    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit() and is_ours(each)]
