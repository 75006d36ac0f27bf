"""The part of a Python file that can affect one of its functions.

That is the function, everything at the top of the file that it may reach by name, and
every statement that may do more when the file is loaded than bind a name. Comments,
formatting and docstrings are no part of it. Whatever cannot be followed by name (`exec`,
`globals()`, star imports …) makes it the whole file: rather too much than too little.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from trunkline.errors import InvalidSpec
from trunkline.model.suggest import did_you_mean, shown

# Through these a function may reach what it does not name.
_TRICKS = {
    "__builtins__", "__dict__", "__doc__", "__getattr__", "__globals__", "__import__",
    "__subclasses__", "_getframe", "compile", "currentframe", "eval", "exec", "f_globals",
    "gc", "get_type_hints", "globals", "import_module", "importlib", "inspect", "modules",
    "runpy", "vars",
}  # fmt: skip

# Calls that leave no trace when a file is loaded; all of ours are such.
_PURE_CALLS = {
    "bool", "bytes", "classmethod", "complex", "dict", "float", "frozenset", "int", "len", "list",
    "max", "min", "property", "range", "set", "sorted", "staticmethod", "str", "sum", "tuple",
    "zip", "abc.abstractmethod", "collections.deque", "collections.namedtuple",
    "collections.Counter", "collections.defaultdict", "contextlib.contextmanager",
    "dataclasses.dataclass", "dataclasses.field", "datetime.date", "datetime.datetime",
    "datetime.timedelta", "datetime.timezone", "decimal.Decimal", "enum.auto", "enum.unique",
    "functools.cache", "functools.cached_property", "functools.lru_cache", "functools.partial",
    "functools.total_ordering", "functools.wraps", "logging.getLogger", "operator.attrgetter",
    "operator.itemgetter", "os.environ.get", "os.getenv", "os.path.join", "pathlib.Path",
    "pathlib.PurePosixPath", "re.compile", "string.Template", "textwrap.dedent",
    "threading.Lock", "typing.NewType", "typing.TypeVar", "typing.overload",
}  # fmt: skip

# Classes that do nothing when another one is derived from them.
_PURE_BASES = {
    "object", "dict", "list", "str", "int", "Exception", "ValueError", "KeyError", "RuntimeError",
    "abc.ABC", "enum.Enum", "enum.IntEnum", "enum.StrEnum", "typing.Generic", "typing.NamedTuple",
    "typing.Protocol", "typing.TypedDict",
}  # fmt: skip

_OURS = "trunkline."

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def reachable_source(text: str, function: str, *, name: str = "the file") -> str:
    """The source that can affect `function`, in one form whatever the file's formatting.

    `name` is the file's: it is in errors, and importing it by itself counts as a trick.
    """
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        raise InvalidSpec(f"{name}{line}: {said}.") from None
    except RecursionError:
        raise InvalidSpec(f"{name}: this is nested too deeply.") from None
    statements = [statement for statement in module.body if not _is_main(statement)]
    bound: dict[str, list[ast.stmt]] = {}
    for statement in statements:
        for known in binds(statement):
            bound.setdefault(known, []).append(statement)
    if function not in bound and not _has_star(module):
        raise InvalidSpec(
            f"{name} has no function {shown(function)}.{did_you_mean(function, bound)}"
        )
    loading = Loading(statements)
    loading.drop_own_decorator(bound.get(function, ()))
    kept = _closure(statements, bound, [*bound.get(function, ()), *loading.effects()])
    if _has_star(module) or any(_is_tricky(statement, name) for statement in kept):
        return "\n".join(map(ast.unparse, statements))
    for statement in kept:
        loading.drop_docstrings(statement)
    return "\n".join(ast.unparse(statement) for statement in kept if not _is_remark(statement))


def _closure(
    statements: list[ast.stmt], bound: dict[str, list[ast.stmt]], todo: list[ast.stmt]
) -> list[ast.stmt]:
    """The statements reached from those to begin with, in the order of the file."""
    kept: set[int] = set()
    while todo:
        statement = todo.pop()
        if id(statement) not in kept:
            kept.add(id(statement))
            for name in _mentions(statement):
                todo += bound.get(name, ())
    return [statement for statement in statements if id(statement) in kept]


def binds(statement: ast.stmt) -> set[str]:
    """Names of the file that a statement at its top may set."""
    found: set[str] = set()
    for node in _outside_functions(statement):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.alias(name=name, asname=asname):
                found.add(asname or name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)):
                found.add(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
    for node in ast.walk(statement):
        if isinstance(node, ast.Global):
            found.update(node.names)
    return found


def _outside_functions(statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement that run in the file's own namespace."""
    yield statement
    if isinstance(statement, _Definition | ast.Lambda):
        return
    for child in ast.iter_child_nodes(statement):
        yield from _outside_functions(child)


def _mentions(statement: ast.AST) -> Iterator[str]:
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name):
                yield name
            case ast.Global(names=names):
                yield from names
            case ast.Constant(value=str(text)) if text.isidentifier():
                yield text  # an annotation in quotes, or a name for getattr


class Loading:
    """What happens when a file is loaded. `names` are what its imports call things."""

    def __init__(self, statements: list[ast.stmt]) -> None:
        self.statements = statements
        self.names = {"tl": "trunkline"}
        own: set[str] = set()
        for statement in statements:
            for node in _outside_functions(statement):
                match node:
                    case ast.Import(names=aliases):
                        for alias in aliases:
                            name = alias.name if alias.asname else alias.name.partition(".")[0]
                            self.names[alias.asname or name] = name
                    case ast.ImportFrom(module=module, names=aliases, level=level):
                        for alias in aliases:
                            origin = f"{'.' * level}{module or ''}.{alias.name}"
                            self.names[alias.asname or alias.name] = origin
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                own |= binds(statement)
        # What the file itself defines is not the builtin or the module of that name.
        self.names |= {name: f".own.{name}" for name in own if name not in self.names}

    def effects(self) -> list[ast.stmt]:
        """Statements that do more than bind names, as far as one can tell."""
        return [statement for statement in self.statements if not self.is_inert(statement)]

    def is_inert(self, statement: ast.stmt) -> bool:
        match statement:
            case ast.ImportFrom(module="__future__"):
                return False
            case ast.Import() | ast.ImportFrom() | ast.Pass() | ast.Expr(value=ast.Constant()):
                return True
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                defaults = [*statement.args.defaults, *filter(None, statement.args.kw_defaults)]
                return all(map(self.is_pure, defaults)) and self.is_plainly_decorated(statement)
            case ast.ClassDef():
                known = all(self.dotted(base) in _PURE_BASES for base in statement.bases)
                plain = known and not statement.keywords and self.is_plainly_decorated(statement)
                return plain and all(map(self.is_inert, statement.body))
            case ast.Assign(targets=targets, value=value):
                return all(map(_is_name, targets)) and self.is_pure(value)
            case ast.AnnAssign(target=target, value=value):
                return _is_name(target) and (value is None or self.is_pure(value))
            case ast.AugAssign(target=target, value=value):
                return _is_name(target) and self.is_pure(value)
            case ast.If(test=test, body=body, orelse=orelse):
                return self.is_pure(test) and all(map(self.is_inert, [*body, *orelse]))
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                handled = [inner for handler in handlers for inner in handler.body]
                return all(map(self.is_inert, [*body, *handled, *orelse, *final]))
        return False

    def is_pure(self, expression: ast.expr) -> bool:
        for node in ast.walk(expression):
            if isinstance(node, ast.Call) and not self.is_known(node.func):
                return False
            if isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
                return False
        return True

    def is_plainly_decorated(self, definition: _Definition) -> bool:
        """Whether its decorators are known to keep nothing of what they decorate."""
        return all(
            self.is_known(_called(decorator)) and self.is_pure(decorator)
            for decorator in definition.decorator_list
        )

    def is_known(self, called: ast.expr) -> bool:
        name = self.dotted(called)
        return name in _PURE_CALLS or name.startswith(_OURS)

    def dotted(self, expression: ast.expr) -> str:
        """The full name, as in functools.cache; '' if it is not just a name."""
        match expression:
            case ast.Name(id=name):
                return self.names.get(name, name)
            case ast.Attribute(value=value, attr=attr):
                return f"{base}.{attr}" if (base := self.dotted(value)) else ""
            case ast.Subscript(value=value):
                return self.dotted(value)
        return ""

    def drop_own_decorator(self, statements: Iterable[ast.stmt]) -> None:
        """What `@tl.pipeline(…)` says is in the spec, where each field counts as it should."""
        for statement in statements:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                statement.decorator_list = [
                    decorator
                    for decorator in statement.decorator_list
                    if not self.dotted(_called(decorator)).startswith(_OURS)
                ]

    def drop_docstrings(self, statement: ast.stmt) -> None:
        for node in ast.walk(statement):
            if not isinstance(node, _Definition) or ast.get_docstring(node, clean=False) is None:
                continue
            if self.is_plainly_decorated(node):
                node.body = node.body[1:] or [ast.Pass()]


def _called(decorator: ast.expr) -> ast.expr:
    """What decorates: `tl.ingest`, with or without options."""
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _is_name(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return all(map(_is_name, target.elts))
    return isinstance(target, ast.Name)


def _is_main(statement: ast.stmt) -> bool:
    """`if __name__ == "__main__":`, which is never so here."""
    match statement:
        case ast.If(
            test=ast.Compare(
                left=ast.Name(id="__name__"),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value="__main__")],
            ),
            orelse=[],
        ):
            return True
    return False


def _has_star(module: ast.Module) -> bool:
    return any(
        alias.name == "*"
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )


def _is_tricky(statement: ast.stmt, file: str) -> bool:
    own = file.rpartition("/")[2].removesuffix(".py")
    for node in ast.walk(statement):
        match node:
            case ast.Attribute(value=ast.Name(id="re"), attr="compile"):
                continue
            case ast.Name(id=name) | ast.Attribute(attr=name):
                if name in _TRICKS and not _is_harmless(node):
                    return True
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                parts = {part for alias in names for part in alias.name.split(".")}
                if parts & (_TRICKS - {"compile"}) or own in parts:
                    return True
                if isinstance(node, ast.ImportFrom) and own in (node.module or "").split("."):
                    return True
    return False


def _is_harmless(node: ast.expr) -> bool:
    """`x.compile()` and `x.eval()` of something else are everybody's method names."""
    return isinstance(node, ast.Attribute) and node.attr in ("compile", "eval", "exec", "vars")


def _is_remark(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )
