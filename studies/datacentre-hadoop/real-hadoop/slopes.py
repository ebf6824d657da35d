"""Round trips of each phase: how much longer it takes for each second of delay.

    python slopes.py results.csv ...

The slope is the median over all pairs of runs with different delays (Theil and Sen); beside it the least and
the largest pair with the largest delay, and the medians at each delay in seconds.
"""

import csv
import itertools
import statistics
import sys
from pathlib import Path

Row = dict[str, str]
FACTS = {"framework", "maps", "delay_ms", "run", "am_node", "containers_on_am_node"}


def slopes(by_delay: dict[int, list[float]]) -> list[tuple[int, float]]:
    """Of all pairs, with the larger delay of each."""
    return [
        (long, (slow - fast) / (long - short) * 1000)
        for short, long in itertools.combinations(sorted(by_delay), 2)
        for fast in by_delay[short]
        for slow in by_delay[long]
    ]


def show(rows: list[Row]) -> None:
    """One framework with one number of maps."""
    delays = sorted({int(row["delay_ms"]) for row in rows})
    for phase in (name for name in rows[0] if name not in FACTS):
        by_delay = {
            delay: [
                float(row[phase]) for row in rows if int(row["delay_ms"]) == delay and row[phase] != "nan"
            ]
            for delay in delays
        }
        pairs = slopes(by_delay)
        if not pairs:
            continue
        ends = [slope for long, slope in pairs if long == delays[-1]]
        medians = ", ".join(f"{statistics.median(values):.1f}" for values in by_delay.values() if values)
        middle = statistics.median(slope for _, slope in pairs)
        print(f"| {phase} | {middle:.0f} | {min(ends):.0f} to {max(ends):.0f} | {medians} |")


def main() -> None:
    """Prints a table a framework and number of maps."""
    rows = [row for name in sys.argv[1:] for row in csv.DictReader(Path(name).read_text().splitlines())]
    for framework, maps in sorted({(row["framework"], row["maps"]) for row in rows}):
        part = [row for row in rows if (row["framework"], row["maps"]) == (framework, maps)]
        print(f"\n{framework}, {maps} maps\n\n| phase | round trips | pairs | seconds |")
        print("| --- | --- | --- | --- |")
        show(part)


if __name__ == "__main__":
    main()
