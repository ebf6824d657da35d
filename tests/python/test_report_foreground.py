"""What the report reads of tables is what reading all of them in order would give."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from incast.report.foreground import first
from incast.report.graph import graph

SHARES = st.none() | st.sampled_from([0.0, 0.25, 1.0])
ROWS = st.lists(st.tuples(SHARES, st.integers(0, 2)), max_size=60)


@given(ROWS, st.integers(1, 20))
def test_the_first_rows_are_those_of_the_whole_in_order(
    rows: list[tuple[float | None, int]], most: int
) -> None:
    named = [(f"host{number}", *row) for number, row in enumerate(rows)]
    schema = {"port": pl.Categorical, "share": pl.Float64, "drops": pl.Int64}
    frame = pl.DataFrame(named, schema=schema, orient="row")

    def place(row: tuple[str, float | None, int]) -> tuple[bool, float, int, str]:
        port, share, drops = row
        return share is None, -(share or 0), -drops, port

    found = first(frame, most, share=True, drops=True, port=False)
    assert found.rows() == sorted(named, key=place)[:most]


def test_a_graph_has_its_ports_in_natural_order_of_names() -> None:
    links = [("host10", "leaf0"), ("leaf0", "spine"), ("host2", "leaf0"), ("leaf0", "spine")]
    names = [*(f"{a}:{b}" for a, b in links[:3]), "leaf0:spine#2"]
    table = pl.DataFrame(
        {"port": names, "node": [a for a, _ in links], "peer": [b for _, b in links], "rate_bps": 1}
    )
    found = graph(table, frozenset({"host2", "host10"}))
    assert [port.name for port in found.ports] == [
        "host2:leaf0",
        "host10:leaf0",
        "leaf0:spine",
        "leaf0:spine#2",
    ]
    assert found.tiers == {"host2": 0, "host10": 0, "leaf0": 1, "spine": 2}
    assert found.neighbours["leaf0"] == ("host2", "host10", "spine")
