"""What is there for those who install the programs as services."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).parents[2] / "packaging" / "incast-agent.service"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze on this machine")
def test_the_agents_unit_is_one_that_systemd_takes() -> None:
    done = subprocess.run(["systemd-analyze", "verify", UNIT], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
