"""What pipelines mean, without a store, a clock or an engine: everything here is pure.

May import `model`, `settings` (how durations are written) and `errors`. Tested by tables of
text cases and by properties.
"""
