"""Settings of the tests."""

import signal

from hypothesis import settings

# Other work may keep the machine busy: a slow example is no failure. A failure prints how to run it again. The
# examples are the same each time, so that a failure comes from a change; `make search` looks for new ones.
settings.register_profile("incast", deadline=None, print_blob=True, max_examples=60, derandomize=True)
settings.register_profile("search", deadline=None, print_blob=True, max_examples=2000)
settings.load_profile("incast")

# A shell ignores Ctrl-C for what it starts in the background, and so would all that the tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
