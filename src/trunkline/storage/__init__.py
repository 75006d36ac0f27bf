"""Where a lake keeps its bytes (`objects`) and its facts (`catalog`).

May import `model`, `settings` and `errors`. It keeps commits, branches and jobs as rows and looks
them up; what they mean, and when they may change, is decided above.
"""
