"""Draws what two receivers have over time, a fast one and the slow one: received.svg, from runs of slow.yaml.

incast run studies/stable-broadcast/slow.yaml && python studies/stable-broadcast/received.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import altair as alt
import polars as pl
import vl_convert

from incast.result import Result

HERE = Path(__file__).resolve().parent
SHOWN = {"h7": "a fast host", "slow": "the slow host"}
ORDER = ["stable", "depth-first", "flat"]


def curves(folder: Path) -> pl.DataFrame:
    """What each of the two had, by algorithm."""
    series = Result.open(folder).broadcasts_series.with_columns(pl.col("host", "choice").cast(pl.String))
    return (
        series.filter(pl.col("host").is_in(list(SHOWN)))
        .sort("time_ps")
        .select(
            pl.col("host").replace(SHOWN),
            pl.col("choice").alias("algorithm"),
            (pl.col("time_ps") / 1e12).round(2).alias("s"),
            (pl.col("bytes") / 2**20).round(2).alias("MiB"),
        )
    )


def main() -> None:
    """Reads the runs in the folder that is named, or in results/stable-broadcast-slow."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results/stable-broadcast-slow")
    chart = (
        alt.Chart(alt.Data(values=curves(folder).to_dicts()), width=280, height=200)
        .mark_line()
        .encode(
            x=alt.X("s:Q", title="time (s)"),
            y=alt.Y("MiB:Q", title="has (MiB)"),
            color=alt.Color("algorithm:N", sort=ORDER, title="algorithm"),
            column=alt.Column("host:N", title=None),
        )
    )
    (HERE / "received.svg").write_text(vl_convert.vegalite_to_svg(chart.to_dict()))


if __name__ == "__main__":
    main()
