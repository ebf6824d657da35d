"""Settings of switches and hosts in the core's terms: one rule for all, and rules for the overrides.

In the core the last rule that matches counts and nothing is merged; here later overrides are laid over
earlier ones, so a node that several of them match gets a rule of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from incast.document import Node, merge
from incast.errors import ScenarioError
from incast.lab.base import Model, Override
from incast.lab.findings import Findings
from incast.lab.select import SelectError, select
from incast.lab.validate import problems

_M = TypeVar("_M", bound=Model)


def rules(
    whole: _M,
    field: str,
    overrides: Sequence[Override],
    names: Collection[str],
    findings: Findings,
) -> list[dict[str, Any]]:
    """The rules of `field` (`switch` or `host`) for the nodes `names`."""
    configs = dict.fromkeys(names, whole)
    matched = [_matched(o, field, i, names, findings) for i, o in enumerate(overrides)]
    times = Counter(name for each in matched for name in each)
    found = [{"pattern": "*", "config": whole.base_units()}]
    for index, (override, each) in enumerate(zip(overrides, matched, strict=True)):
        changed: dict[int, _M] = {}
        for name in each:
            before = configs[name]
            if id(before) not in changed:
                changed[id(before)] = _laid_over(before, (f"{field}_overrides", index), findings)
            configs[name] = changed[id(before)]
        if each and "[" not in override.match and all(times[name] == 1 for name in each):
            found.append({"pattern": override.match, "config": configs[each[0]].base_units()})
        else:
            found += [{"pattern": name, "config": configs[name].base_units()} for name in each]
    return found


def _matched(
    override: Override, field: str, index: int, names: Collection[str], findings: Findings
) -> list[str]:
    try:
        return select(override.match, names, f"a {field}")
    except SelectError as error:
        findings.add((f"{field}_overrides", index, "match"), str(error))
        return []


def _laid_over(before: _M, place: tuple[str, int], findings: Findings) -> _M:
    base = Node.of(before.model_dump(by_alias=True))
    over = findings.document.child(place[0])
    written = over.child(place[1]) if over else None
    entries = dict(written.value) if written and isinstance(written.value, dict) else {}
    entries.pop("match", None)
    try:
        return type(before).model_validate(merge(base, Node(entries, base.mark)).plain())
    except ScenarioError as error:
        findings.extend(error.problems)
    except ValidationError as error:
        findings.extend(problems(error, findings.document, type(before), place))
    return before
