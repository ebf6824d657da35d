"""The kinds of jobs, one module per kind: what people write, its checks, how it is judged and shown.

This is the registry. Whatever differs between kinds is asked of a kind's model (`incast.kinds.job`); a new
kind is a module here and a line below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, TypeAlias, get_args

from pydantic import Field

from incast.kinds.broadcast import Broadcast
from incast.kinds.farmem import Farmem
from incast.kinds.job import Job, Traits
from incast.kinds.mine import Mine
from incast.kinds.program import Program
from incast.kinds.replay import Coflows, Replay
from incast.kinds.rpc import Rpc
from incast.kinds.shuffle import Shuffle
from incast.kinds.traffic import AllToAll, Background, Bulk, Incast, Load, Permutation
from incast.kinds.walk import Walk

AnyJob: TypeAlias = Annotated[
    Bulk
    | Incast
    | Permutation
    | AllToAll
    | Load
    | Replay
    | Coflows
    | Background
    | Rpc
    | Shuffle
    | Walk
    | Broadcast
    | Mine
    | Program
    | Farmem,
    Field(discriminator="kind"),
]
"""A job of any kind, as a scenario lists them."""

_ALL: tuple[type[Job], ...] = get_args(get_args(AnyJob)[0])
KINDS = {str(each.model_fields["kind"].default): each for each in _ALL}
"""The kinds by name, in the order of the reference."""

_UNKNOWN = Traits(judged="flows")


def unlisted(kind: type[Job] = Job) -> Iterator[type[Job]]:
    """Kinds of jobs that somebody wrote and forgot to list."""
    for each in kind.__subclasses__():
        if "kind" in each.model_fields and each not in KINDS.values():
            yield each
        yield from unlisted(each)


if _missing := sorted(each.__name__ for each in unlisted()):
    raise TypeError(f"kinds of jobs that incast.kinds doesn't list: {', '.join(_missing)}")


def traits(kind: str) -> Traits:
    """How jobs of a kind are judged; of one that another version knows, by their flows."""
    return KINDS[kind].traits if kind in KINDS else _UNKNOWN


def judged(by: str, among: Iterable[str]) -> bool:
    """Whether one of these kinds is judged so; without its own figures a kind is judged by its work's end."""
    ways = (by, "own") if by == "duration" else (by,)
    return any(traits(kind).judged in ways for kind in among)
