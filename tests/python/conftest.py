"""Settings of the tests."""

from hypothesis import settings

# Other work may keep the machine busy: a slow example is no failure. A failure prints how to run it again.
settings.register_profile("incast", deadline=None, print_blob=True, max_examples=60)
settings.load_profile("incast")
