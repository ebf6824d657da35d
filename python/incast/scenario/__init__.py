"""The scenario as people write it: pydantic models, one module a subject."""
