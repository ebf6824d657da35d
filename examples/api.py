"""How early should a switch mark? One incast at three thresholds, from Python."""

import polars as pl

import incast

BASE = {
    "name": "marking",
    "topology": {"kind": "single-switch", "hosts": 16, "host_link": {"rate": "10Gbps"}},
    "host": {"tcp": {"congestion": "dctcp"}},
    "jobs": [{"name": "answers", "kind": "incast", "receiver": "host0", "size": "256kB"}],
    "measure": {"interval": "50us", "ports": ["switch0:host0"]},
}

for threshold in ("20kB", "65kB", "200kB"):
    switch = {"queue": {"kind": "step", "threshold": threshold}}
    result = incast.run(incast.Scenario(**BASE, switch=switch))
    figures = result.summary["jobs"]["answers"]
    wait = result.ports.filter(pl.col("port") == "switch0:host0")["wait_p99_ps"].item()
    print(f"{threshold:>6}: {figures['duration_ps'] / 1e9:.2f} ms, 99 % waited less than {wait / 1e6:.0f} us")

queue = result.ports_series.filter(pl.col("class").is_null()).select(
    time_ms=pl.col("time_ps") / 10**9, queue_kB=pl.col("queue_bytes") / 1000, marks="marks"
)
print(queue.head(4))
