"""Several choices as tables for the terminal: the figure that decides, then what else was measured.

A table is never wider than the terminal, and no word or number in it is broken: what does not fit side by
side stands in a table below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from incast import text
from incast.answer import between, seeds_text, signed
from incast.choose import Ranking, rank
from incast.cli import show
from incast.contrast import Contrast, contrast
from incast.metric import Metric
from incast.overview import Choices, Compared, compared
from incast.samples import samples

SIDE_BY_SIDE_MAX = 4
"""More choices than these are rows."""
_NAME_MAX = 32


def tables(choices: Choices, every: bool) -> Iterator[Table]:
    """The tables of several choices, or of one choice's seeds; of all figures, or a few."""
    ranking = rank(choices)
    if len(choices) == 1:
        yield _of_seeds(choices, ranking, every)
        return
    yield _decision(ranking)
    figures = list(compared(choices, ranking, every))
    if len(choices) <= SIDE_BY_SIDE_MAX and show.fits(table := _beside(choices, figures, ranking)):
        yield table
    else:
        yield from _below([*ranking.figures, *ranking.out], figures, ranking)


def _decision(ranking: Ranking) -> Table:
    """A row per choice, the best first: its mean, and how it differs from the best."""
    table = _table(f"{_upper(ranking.metric.label)}{_of_how_many(ranking)}{_against(ranking)}")
    several = ranking.seeds > 1
    table.add_column("", max_width=_NAME_MAX, overflow="ellipsis")  # Alone it may shrink.
    heads = ("mean" if several else "", "difference" if ranking.best else "")
    for head in (*heads, *(("95 % interval", "seeds") if several else ())):
        table.add_column(Text(head), justify="right" if head else "left", no_wrap=True)
    for name in (*ranking.figures, *ranking.out):
        table.add_row(*_decided(name, ranking, several))
    if ranking.undecided:
        table.caption = Text("In brackets: not decided by these seeds.", style="dim")
        table.caption_justify = "left"
    return table


def _decided(name: str, ranking: Ranking, several: bool) -> list[Text]:
    """The cells of a choice."""
    metric, found = ranking.metric, ranking.contrasts.get(name)
    leads = name in ranking.first
    shown = Text(f"{'★' if leads else ' '} {name or 'mean'}", style="bold green" if leads else "")
    if name in ranking.out:
        return [shown, Text(text.NONE if name in ranking.lacking else "not done")]
    cells = [shown, Text(metric.text(ranking.figures[name]), style="bold")]
    if found is None:
        return cells
    cells.append(difference(found, metric))
    if several:
        dim = "dim" if found.verdict == "open" else ""
        cells += [Text(between(found), style=dim), Text(seeds_text(found))]
    return cells


def _of_seeds(choices: Choices, ranking: Ranking, every: bool) -> Table:
    """A row per figure of one choice: its mean, and the range over the seeds."""
    table = _table(f"Means of {text.plural(ranking.seeds, 'seed')}")
    table.add_column("", no_wrap=True)
    table.add_column("mean", justify="right", no_wrap=True)
    table.add_column("least to most", justify="right", no_wrap=True)
    (name,) = choices
    deciding = Compared(ranking.metric.label, ranking.metric, {name: samples(choices[name], ranking.way)})
    for each in (deciding, *compared(choices, ranking, every)):
        found = each.samples[name]
        ends = text.span(min(found.values()), max(found.values()), each.metric.text) if found else ""
        table.add_row(Text(each.label), each.metric.text(each.means[name]), ends)
    return table


def _beside(choices: Choices, figures: Sequence[Compared], ranking: Ranking) -> Table:
    """A column per choice, a row per figure."""
    table = _table(_others(ranking))
    table.add_column("", no_wrap=True)
    for name in choices:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for each in figures:
        table.add_row(Text(each.label), *(_cell(each, name, ranking) for name in choices))
    return table


def _below(names: Sequence[str], figures: Sequence[Compared], ranking: Ranking) -> Iterator[Table]:
    """A row per choice, a column per figure, in as many tables as the width asks for."""

    def columns(part: Sequence[Compared]) -> Table:
        return _columns(names, part, ranking, _others(ranking) if part[0] is figures[0] else "")

    return show.in_parts(figures, columns)


def _columns(names: Sequence[str], figures: Sequence[Compared], ranking: Ranking, title: str) -> Table:
    table = _table(title)
    table.add_column("", max_width=_NAME_MAX, overflow="ellipsis")  # Alone it may shrink.
    for each in figures:
        table.add_column(Text(each.label), justify="right", no_wrap=True)
    for name in names:
        table.add_row(Text(name), *(_cell(each, name, ranking) for each in figures))
    return table


def _cell(figure: Compared, name: str, ranking: Ranking) -> Text:
    """A mean, and how it differs from the best choice's."""
    shown = Text(figure.metric.text(figure.means[name]))
    if ranking.best is None or name == ranking.best or figure.metric.better == 0:
        return shown
    found = contrast(figure.samples.get(ranking.best, {}), figure.samples[name])
    return shown if found is None else shown + Text(" ") + difference(found, figure.metric)


def difference(found: Contrast, metric: Metric) -> Text:
    """A difference as `+12 %`; dim where it is not decided, else green or red."""
    if found.verdict == "open":
        return Text(signed(found), style="dim")
    good = (found.change or 0) * metric.better
    return Text(signed(found), style="green" if good > 0 else "red" if good < 0 else "dim")


def _others(ranking: Ranking) -> str:
    return f"Other figures{_of_how_many(ranking)}{_against(ranking)}"


def _against(ranking: Ranking) -> str:
    return f", against {ranking.best}" if ranking.best else ""


def _of_how_many(ranking: Ranking) -> str:
    return f", means of {ranking.seeds} seeds" if ranking.seeds > 1 else ""


def _table(title: str) -> Table:
    return Table(
        box=box.SIMPLE_HEAD,
        title=Text(title) if title else None,
        title_justify="left",
        title_style="bold",
        padding=(0, 1, 0, 0),
    )


def _upper(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
