"""Exit codes: one for each way to end, so that scripts can tell them apart.

3 is for what was asked about and is not so: a threshold of `run`, equal runs of `diverge`.
"""

from enum import IntEnum


class Exit(IntEnum):
    """How the command ended."""

    OK = 0
    USAGE = 2
    THRESHOLD = 3
    DIFFERENT = 3
    FAILED = 4
    DEADLOCK = 5
    PARTIAL = 6
    INCOMPLETE = 7
    UNCOVERED = 8
    INTERRUPTED = 130


TEXT = (
    "Exit codes: 0 all is well; 2 the command line or the scenario is wrong, or the folder is in use; "
    "3 a threshold of the scenario failed, or two runs that diverge compares differ; "
    "4 a run failed, or was stuck: jobs had not ended, and no event was left; "
    "5 a run ended in a PFC deadlock; 6 a host, or several, did not get a broadcast; "
    "7 a job of a run failed or did not end; "
    "8 more than a tenth of a program's memory could not be remote (farmem grid), "
    "or more than a hundredth of a run's packets were late (with a real clock); "
    "130 interrupted (measurements so far are kept)."
)
