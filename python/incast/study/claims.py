"""claims.toml as people write it: what a document says, in our words, and how it is tested.

How a test is decided is in `incast.study.verdict`.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from incast.bounded import read_bytes
from incast.document import Mark, Node
from incast.errors import Problem, ScenarioError, why
from incast.lab.base import Model, Name
from incast.lab.validate import validate

Pair = Annotated[list[str], Field(min_length=2, max_length=2)]
Part = Annotated[float, Field(ge=0, le=1)]
_FILE_BYTES_MAX = 8_000_000
RELATIONS = ("less", "within", "ratio", "above", "below")


class Test(Model):
    """One comparison, repeated over the axes that it does not name: exactly one relation."""

    __test__ = False  # for pytest

    less: Pair | None = None
    """[a, b]: a's figure is less than b's. Both are selections that name the same axes."""
    within: Pair | None = None
    """[a, b]: a's figure differs from b's by at most `part` of it."""
    part: Part | None = None
    """For `within`: the greatest difference, as a part of b's figure."""
    ratio: Pair | None = None
    """[a, b]: a's figure divided by b's is in `between`."""
    between: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    """For `ratio`: the least and the greatest allowed."""
    above: str | None = None
    """A selection: the figure is above `value` in each of its cells."""
    below: str | None = None
    """A selection: the figure is below `value` in each of its cells."""
    value: str | float | None = None
    """For `above` and `below`: the limit, with the figure's unit."""
    over: str = ""
    """Only in cells that also match this selection."""
    against: str | None = None
    """Each figure is first divided by that of the same cell with these values."""
    metric: str | None = None
    """The figure, one of the study's `metrics`; without a value, what the published figures are."""

    @model_validator(mode="after")
    def _one_relation(self) -> Test:
        said = [name for name in RELATIONS if getattr(self, name) is not None]
        if len(said) != 1:
            found = f"found {' and '.join(said)}" if said else "found none"
            raise ValueError(f"exactly one relation is expected, {found}. Allowed: {', '.join(RELATIONS)}")
        needs = {"within": "part", "ratio": "between", "above": "value", "below": "value"}.get(said[0])
        for field in ("part", "between", "value"):
            if (getattr(self, field) is not None) != (field == needs):
                said_so = "is required" if field == needs else "has no meaning"
                raise ValueError(f"{field} {said_so} with {said[0]}")
        if self.between and self.between[0] > self.between[1]:
            raise ValueError(f"between begins at {self.between[0]}, above its end {self.between[1]}")
        return self

    @property
    def relation(self) -> str:
        """Its name."""
        return next(name for name in RELATIONS if getattr(self, name) is not None)

    @property
    def sides(self) -> list[str]:
        """The selections compared: two, or one with a value."""
        said: str | list[str] = getattr(self, self.relation)
        return [said] if isinstance(said, str) else said


class Claim(Model):
    """Something that the document defines, finds, expects or asks."""

    id: Name
    """Unique; cited by code that implements it."""
    kind: Literal["definition", "finding", "expectation", "question"]
    """What sort of claim it is."""
    place: str
    """Its place in the document."""
    text: str
    """The claim in our words."""
    figure: str = ""
    """The figures that it gives, if the published table does not have them."""
    tests: list[Test] = []
    """How it is tested; all tests must hold."""
    reason: str = ""
    """Why it is not tested, or why it does not hold."""
    checked_by: list[str] = []
    """Files of the repository whose tests check it, or whose code implements it."""

    @model_validator(mode="after")
    def _tested_or_not(self) -> Claim:
        if not self.tests and not self.reason and not self.checked_by:
            raise ValueError(f"claim {self.id} has no tests: checked_by or a reason is required")
        return self


class ClaimsFile(Model):
    """claims.toml."""

    document: str
    """The document whose claims these are."""
    claim: Annotated[list[Claim], Field(min_length=1)]
    """The claims, one table each."""

    @model_validator(mode="after")
    def _unique(self) -> ClaimsFile:
        ids = [claim.id for claim in self.claim]
        for each in ids:
            if ids.count(each) > 1:
                raise ValueError(f"two claims have the id {each!r}: ids must differ")
        return self


def read(file: Path) -> tuple[ClaimsFile, Node]:
    """The claims, and where each was written; all problems together otherwise."""
    try:
        text = read_bytes(file, _FILE_BYTES_MAX).decode("utf-8")
        data = tomllib.loads(text)
    except FileNotFoundError:
        raise ScenarioError([Problem("there is no such file", file=str(file))]) from None
    except OSError as error:
        raise ScenarioError([Problem(f"can't read it: {why(error)}", file=str(file))]) from None
    except (ValueError, RecursionError) as error:
        raise ScenarioError([Problem(f"not TOML: {why(error)}", file=str(file))]) from None
    document = _marked(data, text, str(file))
    return validate(document, ClaimsFile), document


def _marked(data: dict[str, object], text: str, file: str) -> Node:
    """The data with the line of each claim's head; TOML's reader knows no lines."""
    root = Node.of(data, Mark(file))
    heads = [n for n, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[ *claim *\]\]", line)]
    claims = data.get("claim")
    if not isinstance(claims, list) or len(heads) != len(claims) or not isinstance(root.value, dict):
        return root
    marked = [Node.of(each, Mark(file, line)) for each, line in zip(claims, heads, strict=True)]
    return Node({**root.value, "claim": Node(list(marked), Mark(file))}, root.mark)
