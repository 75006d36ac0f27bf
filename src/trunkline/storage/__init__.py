"""Where a lake keeps its bytes (`objects`) and its facts (`catalog`).

May import `model`, `settings` and `errors`; knows nothing of commits beyond their ids.
"""
