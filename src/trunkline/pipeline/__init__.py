"""What pipelines mean, without a store, a clock or an engine: everything here is pure.

May import `model` and `errors`. Tested by tables of text cases and by properties.
"""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Any:
        from trunkline.pipeline.dsl import pipeline

        return pipeline(*args, **options)


sys.modules[__name__].__class__ = _Callable
