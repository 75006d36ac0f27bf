"""From checked fields to a `PipelineSpec`: defaults, and what only several fields tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trunkline.errors import TrunklineError
from trunkline.model.commits import DEFAULT_BRANCH, RepoName
from trunkline.model.expectations import Expectation
from trunkline.model.inputs import Cron, Cross, Group, Input, Join, Leaf, Pfs, Trigger, Union
from trunkline.model.paths import validate_name
from trunkline.model.pipelines import (
    TRANSFORMS,
    Merge,
    OnChange,
    PipelineSpec,
    Retry,
    Sandbox,
    Schedule,
    Transform,
)
from trunkline.pipelines.cron import parse_cron
from trunkline.pipelines.globs import substitute
from trunkline.pipelines.globtree import read
from trunkline.pipelines.spec.egress import targets_of
from trunkline.pipelines.spec.model import (
    CronField,
    InputField,
    LimitsField,
    MetadataField,
    PfsField,
    RetryField,
    ScheduleField,
    SecretField,
    SpecField,
    TransformField,
    TriggerField,
)
from trunkline.pipelines.spec.places import Flaw, Loc, path_text
from trunkline.pipelines.spec.rules import expectations
from trunkline.pipelines.spec.streams import (
    glob_of,
    history_of,
    query_of,
    settled_stream,
    stream_input,
)
from trunkline.pipelines.spec.tables import ReadFile, check_kind, settled
from trunkline.pipelines.spec.values import moment

_OUTPUT = "out"
_MEMBERS: dict[str, type[Cross] | type[Union] | type[Join] | type[Group]] = {
    "cross": Cross,
    "union": Union,
    "join": Join,
    "group": Group,
}


def build(fields: SpecField, project: str, read_file: ReadFile | None = None) -> PipelineSpec:
    """The spec, or the `Flaw` that keeps it from making sense.

    `read_file` gives the text of a file by its path from where the spec is.
    """
    name = RepoName(fields.pipeline.project or project, fields.pipeline.name)
    inputs = _Inputs(name, is_stream=fields.transform.stream is not None)
    expression = inputs.expression(fields.input, ("input",))
    inputs.check_names(expression)
    parallelism, sets = fields.parallelism_spec, fields.datum_set_spec
    transform = _transform(fields.transform, fields.resource_limits)
    rules: tuple[Expectation, ...] = ()
    check_kind(fields, transform.kind)
    if transform.makes_tables:
        places = inputs.places
        transform, tables = settled(fields.transform, transform, expression, places, read_file)
        names = [*dict.fromkeys(leaf.name for leaf, _ in places)]
        rules = expectations(fields.expectations, names, tables)
    elif transform.streaming is not None:
        transform = settled_stream(fields, transform, expression, inputs.places, read_file)
        rules = expectations(fields.expectations, [leaf.name for leaf, _ in inputs.places], ())
    return PipelineSpec(
        name=name,
        input=expression,
        transform=transform,
        description=fields.description,
        output_branch=fields.output_branch or DEFAULT_BRANCH,
        parallelism=(parallelism.constant or None) if parallelism else None,
        set_number=(sets.number or None) if sets else None,
        set_bytes=(sets.size_bytes or None) if sets else None,
        datum_tries=fields.datum_tries,
        datum_timeout=fields.datum_timeout,
        job_timeout=fields.job_timeout,
        every_job=fields.reprocess_spec == "every_job",
        max_failed_datums=fields.max_failed_datums,
        merge=Merge(fields.merge),
        priority=fields.priority,
        pool=fields.pool,
        retry=_retry(fields.retry),
        schedule=_schedule(fields.schedule),
        spark=tuple(sorted(fields.spark.items())),
        expectations=rules,
        metadata=metadata_of(fields.metadata),
        history=history_of(fields.history),
        egress=targets_of(fields.egress),
    )


def _transform(fields: TransformField, limits: LimitsField | None) -> Transform:
    given = [kind for kind in TRANSFORMS if getattr(fields, kind)]
    if len(given) > 1:
        what = f"transform has both {given[0]} and {given[1]}."
        raise Flaw(("transform", given[1]), what, "Keep one.")
    if not given:
        raise Flaw(("transform",), "transform needs cmd, python, sql, spark or stream.")
    if fields.err_stdin and not fields.err_cmd:
        raise Flaw(("transform", "err_stdin"), "transform.err_stdin needs transform.err_cmd.")
    secrets = secrets_of(fields.secrets, fields.env, ("transform",))
    return Transform(
        cmd=tuple(fields.cmd or ()),
        python=fields.python or "",
        **{"sql": fields.sql or "", **query_of(fields)},
        sql_file=fields.sql_file,
        spark=fields.spark or "",
        partition_by=tuple(fields.partition_by),
        params=tuple(sorted(fields.params.items())),
        requirements=tuple(fields.requirements),
        on_change=OnChange(fields.on_change or OnChange.ERROR),
        stdin=tuple(fields.stdin),
        err_cmd=tuple(fields.err_cmd or ()),
        err_stdin=tuple(fields.err_stdin),
        accept_return_code=tuple(sorted(set(fields.accept_return_code))),
        env=tuple(sorted(fields.env.items())),
        secrets=tuple(sorted(secrets.items())),
        working_dir=fields.working_dir,
        code=fields.code,
        sandbox=Sandbox(fields.sandbox),
        memory=limits.memory if limits else None,
    )


def secrets_of(fields: Sequence[SecretField], env: Mapping[str, str], loc: Loc) -> dict[str, str]:
    """The variables that secrets are given in, each with its "name" or "name/key"."""
    secrets: dict[str, str] = {}
    for i, secret in enumerate(fields):
        variable = secret.env_var or secret.name
        if variable in secrets or variable in env:
            raise Flaw((*loc, "secrets", i), f"The variable {variable} is given twice.")
        secrets[variable] = f"{secret.name}/{secret.key}" if secret.key else secret.name
    return secrets


def _retry(fields: RetryField | None) -> Retry:
    if fields is None:
        return Retry()
    return Retry(fields.tries, fields.backoff, fields.factor, fields.longest)


def _schedule(fields: ScheduleField | None) -> Schedule | None:
    if fields is None:
        return None
    _check_cron(fields.cron, fields.timezone, ("schedule", "cron"))
    start = moment(fields.start, fields.timezone) if fields.start else None
    return Schedule(fields.cron, fields.timezone, fields.catch_up, start)


def _check_cron(text: str, timezone: str, loc: Loc) -> None:
    """A cron text may name its time zone itself, but then no other."""
    try:
        parse_cron(text, timezone)
    except TrunklineError as error:
        raise Flaw(loc, f"{path_text(loc)}: {error.message}", error.hint) from None


def metadata_of(fields: MetadataField | None) -> tuple[tuple[str, str], ...]:
    if fields is None:
        return ()
    pairs = [(f"annotations.{name}", text) for name, text in fields.annotations.items()]
    pairs += [(f"labels.{name}", text) for name, text in fields.labels.items()]
    return tuple(sorted(pairs))


class _Inputs:
    """Reads an input expression; remembers where each leaf stands."""

    def __init__(self, pipeline: RepoName, is_stream: bool) -> None:
        self.pipeline = pipeline
        self.is_stream = is_stream
        self.places: list[tuple[Leaf, Loc]] = []
        self.triggers = 0

    def expression(self, fields: InputField, loc: Loc, above: tuple[str, ...] = ()) -> Input:
        given = [name for name in type(fields).model_fields if getattr(fields, name) is not None]
        if len(given) != 1:
            kinds = "pfs, cron, cross, union, join and group"
            what = f"has {' and '.join(given)}" if given else "is empty"
            place = (*loc, given[1]) if given else loc
            raise Flaw(place, f"{path_text(loc)} {what}, but takes exactly one of {kinds}.")
        kind = given[0]
        place = (*loc, kind)
        leaf: Leaf
        if fields.pfs is not None:
            leaf = self.pfs(fields.pfs, place)
        elif fields.cron is not None:
            leaf = self.cron(fields.cron, place)
        else:
            members = getattr(fields, kind)
            if not members:
                raise Flaw(place, f"{path_text(place)} has no members.")
            under = (*above, kind)
            parts = (self.expression(m, (*place, i), under) for i, m in enumerate(members))
            return _MEMBERS[kind](tuple(parts))
        self.check_leaf(leaf, place, above)
        self.places.append((leaf, place))
        return leaf

    def pfs(self, fields: PfsField, loc: Loc) -> Pfs:
        branch = fields.branch
        how = stream_input(fields, loc, self.is_stream)
        never = fields.propagation == "never"
        if fields.propagation_spec is not None:
            if "propagation" in fields.model_fields_set:
                what = f"{path_text(loc)} has both propagation and propagation_spec."
                raise Flaw((*loc, "propagation_spec"), what, "Keep one.")
            never = fields.propagation_spec.never
        trigger = None
        if fields.trigger is not None:
            self.triggers += 1
            branch = branch or f"{self.pipeline.repo}-trigger-{self.triggers}"
            self.check_name("branch", branch, (*loc, "trigger"))
            trigger = _trigger(fields.trigger, branch, (*loc, "trigger"))
        return Pfs(
            name=fields.name or fields.repo,
            repo=RepoName(fields.project or self.pipeline.project, fields.repo),
            glob=glob_of(fields, loc, self.is_stream),
            branch=branch or DEFAULT_BRANCH,
            join_on=fields.join_on,
            outer_join=fields.outer_join,
            group_by=fields.group_by,
            lazy=fields.lazy,
            empty_files=fields.empty_files,
            reference=fields.reference,
            propagation=not never,
            trigger=trigger,
            stream=how,
        )

    def cron(self, fields: CronField, loc: Loc) -> Cron:
        if not fields.name:
            raise Flaw((*loc, "name"), f"{path_text((*loc, 'name'))} is empty.")
        repo = fields.repo or f"{self.pipeline.repo}_{fields.name}"
        self.check_name("repo", repo, loc)
        _check_cron(fields.spec, fields.timezone, (*loc, "spec"))
        return Cron(
            name=fields.name,
            repo=RepoName(self.pipeline.project, repo),
            cron=fields.spec,
            timezone=fields.timezone,
            start=moment(fields.start, fields.timezone) if fields.start else None,
            overwrite=fields.overwrite,
            catch_up=fields.catch_up,
        )

    def check_name(self, kind: str, name: str, loc: Loc) -> None:
        try:
            validate_name(kind, name)
        except TrunklineError as error:
            raise Flaw(loc, f"{path_text(loc)}: {error.message}", error.hint) from None

    def check_leaf(self, leaf: Leaf, loc: Loc, above: tuple[str, ...]) -> None:
        if leaf.repo == self.pipeline:
            raise Flaw((*loc, "repo"), f"The pipeline {self.pipeline} reads its own output.")
        if leaf.name == _OUTPUT:
            raise Flaw(
                loc,
                f'{path_text(loc)} is called "{_OUTPUT}", which is where a datum writes.',
                "Give it another name.",
            )
        if isinstance(leaf, Cron):
            if above and ("join" in above or "group" in above):
                raise Flaw(loc, f"{path_text(loc)} cannot be in a join or group: it has no key.")
            for other, _ in self.places:
                if other.repo == leaf.repo and isinstance(other, Cron):
                    raise Flaw(loc, f"Two crons write the repo {leaf.repo}.")
            return
        for kind, key in (("join", "join_on"), ("group", "group_by")):
            if kind in above and not getattr(leaf, key):
                raise Flaw(
                    loc,
                    f"{path_text(loc)} is in a {kind} and has no {key}.",
                    f'Write what the files have in common, such as {key}: "$1".',
                )
            self.check_template(leaf, key, loc)

    def check_template(self, leaf: Leaf, key: str, loc: Loc) -> None:
        _, parentheses = read(leaf.glob)
        try:
            substitute(getattr(leaf, key), ("",) * parentheses)
        except TrunklineError as error:
            place = (*loc, key)
            raise Flaw(place, f"{path_text(place)}: {error.message}", error.hint) from None

    def check_names(self, expression: Input) -> None:
        """One name means one thing in a datum: only members of a union may share it."""
        places = iter(self.places)

        def names(part: Input) -> Iterator[tuple[str, Loc]]:
            if isinstance(part, Pfs | Cron):
                yield part.name, next(places)[1]
                return
            found: dict[str, Loc] = {}
            for member in part.members:
                for name, loc in list(names(member)):
                    if name in found and not isinstance(part, Union):
                        raise Flaw(
                            loc,
                            f'{path_text(loc)} and {path_text(found[name])} are both called '
                            f'"{name}".',
                            "Give one of them another name.",
                        )  # fmt: skip
                    found.setdefault(name, loc)
            yield from found.items()

        list(names(expression))


def _trigger(fields: TriggerField, branch: str, loc: Loc) -> Trigger:
    for name, other in (("rate_limit_spec", "rate_limit"), ("cron_spec", "cron")):
        if getattr(fields, name) and getattr(fields, other):
            raise Flaw((*loc, other), f"{path_text(loc)} has both {name} and {other}.")
    trigger = Trigger(
        branch=fields.branch or DEFAULT_BRANCH,
        size=fields.size,
        commits=fields.commits,
        rate_limit=fields.rate_limit_spec or fields.rate_limit,
        cron=fields.cron_spec or fields.cron,
        all=fields.all,
        timezone=fields.timezone,
    )
    for name in ("rate_limit_spec", "rate_limit", "cron_spec", "cron"):
        if text := getattr(fields, name):
            _check_cron(text, fields.timezone, (*loc, name))
    if trigger.branch == branch:
        raise Flaw(loc, f'{path_text(loc)} makes the branch "{branch}" follow itself.')
    if not (trigger.size or trigger.commits or trigger.rate_limit or trigger.cron):
        raise Flaw(loc, f"{path_text(loc)} has no condition.", "Give size, commits, rate_limit "
                   "or cron.")  # fmt: skip
    return trigger
