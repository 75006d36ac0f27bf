"""The fields of a spec, as pydantic models: names, types, descriptions. Meaning is `build`'s."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from trunkline.pipelines.spec.egressfields import TargetField
from trunkline.pipelines.spec.fields import Fields, NoMeaning, OrOne, about, ignored
from trunkline.pipelines.spec.rulefields import ExpectationField
from trunkline.pipelines.spec.streamfields import (
    BatchLimitField,
    Changes,
    HistoryField,
    StaticText,
    StreamOutputText,
    StreamTrigger,
    WatermarkText,
)
from trunkline.pipelines.spec.tablevalues import (
    Columns,
    ParamName,
    ParamValue,
    RequirementText,
)
from trunkline.pipelines.spec.values import (
    BranchText,
    CatchUp,
    Command,
    Count,
    CronText,
    Duration,
    GlobText,
    InputName,
    Integer,
    Lines,
    Moment,
    Pause,
    PipelineName,
    PoolName,
    Positive,
    ProjectName,
    PythonFunction,
    RepoText,
    ReturnCode,
    Size,
    SizeOrNone,
    SparkName,
    SparkValue,
    Text,
    TimeZone,
    Unfit,
    Variable,
)

_LATER = "is not supported yet"


class PipelineField(Fields):
    name: PipelineName = Field(description="The pipeline's name, which is its output repo's too.")
    project: ProjectName | None = about("The project it is in; without it, the current one.")


class MetadataField(Fields):
    annotations: dict[Text, Text] = about("Notes for people, by name.", {})
    labels: dict[Text, Text] = about("Labels to find the pipeline by.", {})


class SecretField(Fields):
    refused: ClassVar[dict[str, str]] = {"mount_path": _LATER}

    name: Text = Field(description="The secret's name.")
    key: Text = about("Which part of the secret, if it has several.", "")
    env_var: Variable | None = about("The variable it is given in; without it, its name.")


Secret = Annotated[
    SecretField,
    BeforeValidator(lambda given: {"name": given} if isinstance(given, str) else given),
]


def _sandbox(given: object) -> object:
    return ("on" if given else "off") if isinstance(given, bool) else given


class TransformField(Fields):
    refused: ClassVar[dict[str, str]] = {"datum_batching": _LATER}

    cmd: Command | None = about("The program to run for each datum, and its arguments.")
    python: PythonFunction | None = about("The function to call for each datum: file.py:function.")
    sql: Text | None = about(
        "Spark SQL that reads its inputs by name: the text, or a file ending in .sql."
    )
    sql_file: Text = about("The file that the SQL came from, for messages.", "")
    spark: PythonFunction | None = about(
        "The function of DataFrames to call: file.py:function; its parameters are inputs."
    )
    stream: Text | None = about(
        "A query that runs on, batch by batch: file.py:function, a SELECT, or a file ending in "
        ".sql."
    )
    trigger: StreamTrigger | None = about(
        "When a stream makes a batch: on_commit, or every {interval: 1s}."
    )
    output: StreamOutputText | None = about(
        "What becomes of a stream's rows: append, or {upsert: [columns of the key]}."
    )
    retain: Positive | None = about(
        "So many batches of a stream keep their state, so that it can go back to them; else 100."
    )
    mode: Literal["whole", "together", "each", "append"] | None = about(
        "How sql and spark meet datums: whole (all as one), together (all that must run at once, "
        "each a partition), each (one by one) or append (only files that are new)."
    )
    partition_by: Columns = about("The columns whose values are folders of the output.", [])
    params: dict[ParamName, ParamValue] = about(
        "Values for ${name} in the SQL, and for ctx.params of a function.", {}
    )
    requirements: list[RequirementText] = about(
        "Python packages that the function needs, as pandas>=2; they are checked before it runs.",
        [],
    )
    on_change: Literal["error", "refresh"] | None = about(
        "With append, when a file that was read has changed or is gone: error, or refresh (all "
        "is computed anew)."
    )
    stdin: Lines = about("Lines given to the command on its standard input.", [])
    err_cmd: Command | None = about("Run when a datum failed; if it ends well, all goes on.")
    err_stdin: Lines = about("Lines given to err_cmd on its standard input.", [])
    accept_return_code: list[ReturnCode] = about("Exit codes that count as success, beside 0.", [])
    env: dict[Variable, Text] = about("Environment variables.", {})
    secrets: list[Secret] = about("Secrets to give as environment variables.", [])
    working_dir: Text = about("Where the command runs, from the datum's folder.", "")
    code: Text = about("A file or folder that travels with the pipeline, from the spec's.", "")
    sandbox: Annotated[
        Literal["auto", "on", "off"],
        BeforeValidator(_sandbox),
        WithJsonSchema({"enum": ["auto", "on", "off", True, False]}),
    ] = about(
        "on: confined, without network and other files; auto: /pfs and /tmp to itself; off.",
        "auto",
    )
    image: NoMeaning = ignored("commands run where the engine runs.")
    image_pull_secrets: NoMeaning = ignored("there are no images.")
    dockerfile: NoMeaning = ignored("there are no images.")
    build: NoMeaning = ignored("there are no images.")
    debug: NoMeaning = ignored("logs are always whole.")
    user: NoMeaning = ignored("commands run as the engine's user.")
    memory_volume: NoMeaning = ignored("there are no pods.")


class TriggerField(Fields):
    branch: BranchText = about("The branch to follow.", "")
    size: Size | None = about("Follow when the branch has grown by this much.")
    commits: Positive | None = about("Follow when the branch has this many new commits.")
    rate_limit_spec: CronText | None = about("Follow at most this often: a cron text.")
    rate_limit: CronText | None = about("Another name of rate_limit_spec.")
    cron_spec: CronText | None = about("Follow at these times: a cron text.")
    cron: CronText | None = about("Another name of cron_spec.")
    all: bool = about("Whether all conditions must hold, not just one.", False)
    timezone: TimeZone = about("The time zone of the cron texts.", "UTC")


class PropagationField(Fields):
    never: bool = about("Whether commits here start no jobs.", False)


class PfsField(Fields):
    refused: ClassVar[dict[str, str]] = {"s3": _LATER}

    repo: RepoText = Field(description="The repo to read.")
    glob: GlobText | None = about(
        "What is one datum: each file or folder it matches. Only a stream's may be left out."
    )
    project: ProjectName | None = about("The repo's project; without it, the pipeline's.")
    name: InputName = about("What the input is called in pfs/; without it, as the repo.", "")
    branch: BranchText = about("The branch to read; without it, main.", "")
    join_on: Text = about("In a join, the key: $1 is the glob's first parenthesis.", "")
    outer_join: bool = about("Whether files without a partner are kept in a join.", False)
    group_by: Text = about("In a group, the key: $1 is the glob's first parenthesis.", "")
    lazy: bool = about("Whether files are fetched only when they are opened.", False)
    empty_files: bool = about("Whether only the names of files are given.", False)
    reference: bool = about("Whether changed contents alone do not make a datum run.", False)
    propagation: Literal["always", "never"] = about(
        "Whether commits here start jobs, or are only read by the next one.", "always"
    )
    propagation_spec: PropagationField | None = about(
        "Pachyderm's way to say it: {never: true} is propagation: never."
    )
    trigger: TriggerField | None = about("Conditions on which new commits are taken in.")
    watermark: WatermarkText | None = about(
        'In a stream, which rows are late: {column: ts, delay: 10s}, or "ts 10s".'
    )
    changes: Changes | None = about(
        "In a stream, when rows that were read change or go: raise an error, skip them, or give "
        "them as rows with a column _change."
    )
    limit: BatchLimitField | None = about("In a stream, how much of it one batch takes.")
    static: StaticText = about(
        "In a stream, an input that is looked up as a whole: true or moving (as of each batch), "
        "pinned (as of the start), or a branch, tag or id.",
        "",
    )
    repo_type: Literal["", "user"] = about("Only user repos can be read.", "")
    commit: NoMeaning = ignored("a pipeline reads a branch.")


class CronField(Fields):
    name: InputName = Field(description="What the input is called in pfs/.")
    spec: CronText = Field(description='When it ticks: "0 6 * * *", "@hourly" or "@every 10m".')
    repo: InputName = about("The repo of its ticks; without it, <pipeline>_<name>.", "")
    start: Moment | None = about("Ticks are counted from this time on.")
    overwrite: bool = about("Whether a tick removes the ones before it.", False)
    timezone: TimeZone = about("The time zone of spec.", "UTC")
    catch_up: CatchUp = about("Missed ticks: none, latest, all or all(n).", "latest")
    project: NoMeaning = ignored("a cron's repo is in the pipeline's project.")
    commit: NoMeaning = ignored("a pipeline reads a branch.")


class InputField(Fields):
    refused: ClassVar[dict[str, str]] = {"git": "is not supported"}

    pfs: PfsField | None = about("Files and folders of a repo.")
    cron: CronField | None = about("Ticks of a clock.")
    cross: list[InputField] | None = about("Every combination of the members' datums.")
    union: list[InputField] | None = about("The members' datums together.")
    join: list[InputField] | None = about("Files whose join_on agrees, in every combination.")
    group: list[InputField] | None = about("All files whose group_by agrees, together.")


class ParallelismField(Fields):
    constant: Count = about("At most this many datums at a time; 0: as many as there is room.", 0)
    coefficient: NoMeaning = ignored("use constant.")


class LimitsField(Fields):
    memory: Size | None = about("A command that takes more memory than this is ended.")
    cpu: NoMeaning = ignored("the engine shares out its cores.")
    gpu: NoMeaning = ignored("there are no pods.")
    disk: NoMeaning = ignored("there are no pods.")


class DatumSetField(Fields):
    number: Count = about("This many datums make a set.", 0)
    size_bytes: SizeOrNone = about("A set holds about this much data.", 0)
    per_worker: NoMeaning = ignored("sets are not planned by worker.")


class ScheduleField(Fields):
    cron: CronText = Field(description='When it runs: "0 6 * * *", "@hourly" or "@every 10m".')
    timezone: TimeZone = about("The time zone of cron.", "UTC")
    catch_up: CatchUp = about("Missed times: none, latest, all or all(n).", "latest")
    start: Moment | None = about("Times are counted from this one on.")


class RetryField(Fields):
    tries: Positive = about("How often a job is tried.", 1)
    backoff: Pause = about("The pause before the second try.", 10.0)
    factor: Annotated[float, Field(ge=1, le=1000)] = about(
        "How many times longer each pause is than the one before.", 2.0
    )
    longest: Pause = about("The longest pause.", 600.0)


def _every_job(given: object) -> object:
    if isinstance(given, str) and given not in ("", "until_success", "every_job"):
        raise Unfit('It must be "until_success" or "every_job".')
    return given


class SpecField(Fields):
    refused: ClassVar[dict[str, str]] = {
        "service": _LATER,
        "spout": "is not supported: an ingest brings data in",
        "s3_out": _LATER,
        "tf_job": "is not supported",
        "interval": "goes into transform.trigger",
        **dict.fromkeys(("source", "schema", "batch"), "goes with ingest, not with pipeline"),
    }

    pipeline: PipelineField = Field(description="The pipeline's name and project.")
    input: InputField = Field(description="What it reads: exactly one of its fields.")
    transform: TransformField = Field(
        description="What it does: cmd, python, sql, spark or stream."
    )
    description: Text = about("A sentence about it.", "")
    metadata: MetadataField | None = about("Annotations and labels.")
    output_branch: BranchText = about("The branch it writes; without it, main.", "")
    parallelism_spec: ParallelismField | None = about("How many datums at a time.")
    datum_set_spec: DatumSetField | None = about("How much work is handed out at once.")
    datum_tries: Positive = about("How often a datum is tried.", 3)
    datum_timeout: Duration | None = about("How long one try may take.")
    job_timeout: Duration | None = about("How long a job may take.")
    reprocess_spec: Annotated[str, BeforeValidator(_every_job), WithJsonSchema(
        {"enum": ["", "until_success", "every_job"]}
    )] = about("until_success: good results are used again; every_job: never.", "")  # fmt: skip
    max_failed_datums: Count = about("A job succeeds with up to this many failed datums.", 0)
    merge: Literal["error", "concat"] = about("What two datums may do to one path.", "error")
    priority: Integer = about("Jobs with a higher one go first.", 0)
    pool: PoolName = about("The pool of job slots it runs in.", "")
    retry: RetryField | None = about("How often a failed job is tried again.")
    schedule: ScheduleField | None = about("When it runs, instead of on every change.")
    expectations: list[ExpectationField] = about(
        "What must hold of its tables before they are published.", []
    )
    egress: Annotated[list[TargetField], OrOne({"$ref": "#/$defs/TargetField"})] = about(
        "Where its output goes when a job has succeeded: a list of targets, or one.", []
    )
    spark: dict[SparkName, SparkValue] = about("Spark settings of its jobs.", {})
    history: HistoryField | None = about("How the history of a stream is kept short.")
    resource_limits: LimitsField | None = about("Only memory counts.")
    resource_requests: NoMeaning = ignored("the engine shares out its cores.")
    sidecar_resource_limits: NoMeaning = ignored("there are no pods.")
    sidecar_resource_requests: NoMeaning = ignored("there are no pods.")
    scheduling_spec: NoMeaning = ignored("there are no pods.")
    pod_spec: NoMeaning = ignored("there are no pods.")
    pod_patch: NoMeaning = ignored("there are no pods.")
    tolerations: NoMeaning = ignored("there are no pods.")
    autoscaling: NoMeaning = ignored("the engine scales by itself.")
    standby: NoMeaning = ignored("a pipeline without jobs takes no resources.")
    salt: NoMeaning = ignored("it is made anew by reprocessing.")
    spec_commit: NoMeaning = ignored("versions are kept elsewhere.")
    update: NoMeaning = ignored("applying again updates.")
    reprocess: NoMeaning = ignored("it is asked for when applying.")
    dry_run: NoMeaning = ignored("it is asked for when applying.")
    determined: NoMeaning = ignored("there is no such service.")
    enable_stats: NoMeaning = ignored("figures are always kept.")
    cache_size: NoMeaning = ignored("there is no such cache.")
    max_queue_size: NoMeaning = ignored("there is no such queue.")
    hashtree_spec: NoMeaning = ignored("output is not sharded.")
    chunk_spec: NoMeaning = ignored("use datum_set_spec.")
    maximum_expected_uptime: NoMeaning = ignored("there are no pods to watch.")
