"""How early should a switch mark? One incast at three thresholds, from Python."""

import polars as pl

import incast

marking = incast.Scenario(
    name="marking",
    topology={"kind": "single-switch", "hosts": 16, "host_link": {"rate": "10Gbps"}},
    host={"tcp": {"congestion": "dctcp"}},
    jobs=[{"name": "answers", "kind": "incast", "receiver": "host0", "size": "256kB"}],
    measure={"interval": "50us", "ports": ["switch0:host0"]},
    choices={
        threshold: {"switch": {"queue": {"kind": "step", "threshold": threshold}}}
        for threshold in ("20kB", "65kB", "200kB")
    },
)
result = incast.run(marking)
print(result.figures.select("choice", "duration_ms", "fct_p99_ms", "goodput_gbps"))
print(result.totals.select("choice", "marks", "queue_max_bytes", "wait_p99_ms"))

queue = result.frame("ports_series").filter(pl.col("class").is_null(), choice="65kB")
print(queue.select("time_ms", "queue_bytes", "marks").head(4))
