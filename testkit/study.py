"""What every study needs, and says nothing by itself."""

NO_TESTS = """\
document = "made up"
[[claim]]
id = "S1"
kind = "question"
place = "page 1"
text = "Why?"
reason = "nobody knows"
"""
"""Claims that no run can confirm or refute."""
