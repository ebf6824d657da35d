"""From a scenario as people write it to the form that the core reads."""
