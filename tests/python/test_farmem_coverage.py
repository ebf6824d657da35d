"""What a look at a program's memory makes of what it sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from incast.farmem.coverage import Library, Watch

MB = 1_000_000
SMAPS = """\
10000000-18000000 rw-p 00000000 00:00 0
Size:             131072 kB
Rss:              {here} kB
Anonymous:        {here} kB
"""


@pytest.mark.parametrize(
    ("in_use", "stays"),
    [([64, 32], 0), ([64, 64], 0), ([32, 64], 0), ([32, 32], 32)],
    ids=["given back meanwhile", "as before", "asked for meanwhile", "stays"],
)
def test_memory_that_is_given_back_during_a_look_does_not_count_as_staying(
    in_use: list[int], stays: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The kernel shows 64 MB; the library is asked before and after.
    monkeypatch.setattr(Path, "read_bytes", lambda _: SMAPS.format(here=64 * MB // 1024).encode())
    said = iter(in_use)
    place = {"memory_at": 0x10000000, "memory_bytes": 1 << 30, "beside_bytes": 1 << 30, "remote": 1}
    watch = Watch(1 << 30, lambda _: Library({**place, "in_use_bytes": next(said) * MB}))
    seen = watch._look()
    assert seen.governed == in_use[1] * MB
    assert seen.others["code"] == pytest.approx(stays * MB, abs=1024)
