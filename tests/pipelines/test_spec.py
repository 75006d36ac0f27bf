"""Reading specs: what is accepted, and what is said of the rest."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.cases import load
from trunkline.errors import InvalidGlob, InvalidSpec, NotFound, Usage
from trunkline.model.commits import RepoName
from trunkline.model.inputs import Cron, Cross, Group, Join, Pfs, Trigger, Union, leaves
from trunkline.model.pipelines import Merge, PipelineSpec, Retry, Sandbox, Schedule, Transform
from trunkline.pipelines.spec import Specs, read_specs, to_json

BASE = {
    "pipeline": "pipeline: {name: edges}",
    "input": "input: {pfs: {repo: images, glob: /*}}",
    "transform": "transform: {cmd: [edges]}",
}


def read(text: str | bytes, name: str = "a.yaml", project: str = "default", **more) -> Specs:
    return read_specs(text, name=name, project=project, **more)


def whole(text: str) -> str:
    """The text with those of the three needed fields that it does not have."""
    starts = {line.partition(":")[0] for line in text.splitlines()}
    if starts & {"- a", "1"}:
        return text
    return "\n".join([text, *(line for name, line in BASE.items() if name not in starts)])


def one(text: str, **more) -> PipelineSpec:
    (sourced,) = read(whole(text), **more).specs
    return sourced.spec


def refused(text: str | bytes, name: str = "a.yaml", **more) -> InvalidSpec:
    with pytest.raises(InvalidSpec) as caught:
        read(text, name=name, **more)
    return caught.value


@pytest.mark.parametrize("case", load("spec_refused.case"), ids="|".join)
def test_refusals(case):
    text = "\n".join(line for line in case if not line.startswith(("=> ", "?? ")))
    (message,) = (line[3:] for line in case if line.startswith("=> "))
    error = refused(whole(text))
    assert message in error.message
    assert "\n" not in error.message
    assert message == error.message or not message.startswith("a.yaml")
    for line in case:
        if line.startswith("?? "):
            assert error.hint == line[3:]


@pytest.mark.parametrize("case", load("spec.case"), ids="|".join)
def test_cases(case):
    text = "\n".join(line for line in case if not line.startswith("=> "))
    (made,) = read(text).specs
    for line in case:
        if line.startswith("=> "):
            path, _, wanted = line[3:].partition(" ")
            found = to_json(made.spec)
            for part in path.split("."):
                found = found[part]
            assert found == json.loads(wanted)


def test_the_least_that_is_needed():
    (made,) = read(whole("")).specs
    assert made.spec == PipelineSpec(
        name=RepoName("default", "edges"),
        input=Pfs("images", RepoName("default", "images"), "/*"),
        transform=Transform(cmd=("edges",)),
    )
    assert made.where == "a.yaml:2"
    assert made.code == ""


def test_everything():
    spec = one(
        """
        pipeline: {name: edges, project: {name: shop}}
        description: Edges of images
        metadata: {annotations: {owner: ada}, labels: {a.b/c: d}}
        input:
          pfs:
            project: raw
            repo: images
            name: pictures
            branch: staging
            glob: /(*).png
            join_on: $1
            group_by: ${1}0
            outer_join: true
            lazy: true
            empty_files: true
            reference: true
            propagation: never
            trigger: {branch: dev, size: 1GB, commits: 3, rate_limit: "@hourly", cron: "@daily",
                      all: true, timezone: Europe/Berlin}
        transform:
          cmd: [python3, edges.py]
          stdin: |
            one
            two
          err_cmd: [sh]
          err_stdin: ["true"]
          accept_return_code: [3, "1", 3]
          env: {B: b, A: a}
          secrets: [TOKEN, {name: db, key: password, env_var: DB_PASSWORD}]
          working_dir: work
          code: ./edges
          sandbox: on
        parallelism_spec: {constant: 4}
        datum_set_spec: {number: 10, size_bytes: "1024"}
        datum_tries: 5
        datum_timeout: 1h30m
        job_timeout: 90.5
        output_branch: good
        reprocess_spec: every_job
        max_failed_datums: 2
        merge: concat
        priority: -3
        pool: small
        retry: {tries: 4, backoff: 5s, factor: 3, longest: 1m}
        schedule: {cron: "0 6 * * *", timezone: Europe/Berlin, catch_up: all(3), start: 2026-01-31}
        resource_limits: {memory: 512Mi}
        """.replace("\n        ", "\n")
    )
    assert spec == PipelineSpec(
        name=RepoName("shop", "edges"),
        input=Pfs(
            name="pictures",
            repo=RepoName("raw", "images"),
            glob="/(*).png",
            branch="staging",
            join_on="$1",
            group_by="${1}0",
            outer_join=True,
            lazy=True,
            empty_files=True,
            reference=True,
            propagation=False,
            trigger=Trigger("dev", 10**9, 3, "@hourly", "@daily", True, "Europe/Berlin"),
        ),
        transform=Transform(
            cmd=("python3", "edges.py"),
            stdin=("one", "two"),
            err_cmd=("sh",),
            err_stdin=("true",),
            accept_return_code=(1, 3),
            env=(("A", "a"), ("B", "b")),
            secrets=(("DB_PASSWORD", "db/password"), ("TOKEN", "TOKEN")),
            working_dir="work",
            code="./edges",
            sandbox=Sandbox.ON,
            memory=512 * 1024**2,
        ),
        description="Edges of images",
        metadata=(("annotations.owner", "ada"), ("labels.a.b/c", "d")),
        output_branch="good",
        parallelism=4,
        set_number=10,
        set_bytes=1024,
        datum_tries=5,
        datum_timeout=5400.0,
        job_timeout=90.5,
        every_job=True,
        max_failed_datums=2,
        merge=Merge.CONCAT,
        priority=-3,
        pool="small",
        retry=Retry(4, 5.0, 3.0, 60.0),
        schedule=Schedule("0 6 * * *", "Europe/Berlin", "all(3)", "2026-01-30T23:00:00Z"),
    )


def test_inputs_nest():
    spec = one(
        """
input:
  cross:
  - union:
    - pfs: {repo: a, glob: /, name: x}
    - pfs: {repo: b, glob: /, name: x, project: other}
  - join:
    - pfs: {repo: c, glob: /(*), join_on: $1}
    - group:
      - pfs: {repo: d, glob: /(*), join_on: $1, group_by: $1}
  - cron: {name: tick, spec: "@every 10m", overwrite: true, catch_up: none, timezone: Asia/Tokyo,
           start: "2026-01-01T00:00:00+09:00"}
"""
    )
    c = Pfs("c", RepoName("default", "c"), "/(*)", join_on="$1")
    d = Pfs("d", RepoName("default", "d"), "/(*)", join_on="$1", group_by="$1")
    assert spec.input == Cross(
        (
            Union(
                (
                    Pfs("x", RepoName("default", "a"), "/"),
                    Pfs("x", RepoName("other", "b"), "/"),
                )
            ),
            Join((c, Group((d,)))),
            Cron(
                name="tick",
                repo=RepoName("default", "edges_tick"),
                cron="@every 10m",
                timezone="Asia/Tokyo",
                start="2025-12-31T15:00:00Z",
                overwrite=True,
                catch_up="none",
            ),
        )
    )


def test_the_branch_of_an_input_with_a_trigger_has_a_name_of_its_own():
    spec = one(
        "input: {cross: [{pfs: {repo: a, glob: /, trigger: {commits: 2}}},"
        " {pfs: {repo: b, glob: /, trigger: {size: 10k, branch: dev}}}]}"
    )
    assert [(leaf.branch, leaf.trigger) for leaf in leaves(spec.input)] == [
        ("edges-trigger-1", Trigger("main", commits=2)),
        ("edges-trigger-2", Trigger("dev", size=10_000)),
    ]


@pytest.mark.parametrize(
    ("written", "sandbox"),
    [("on", "on"), ("off", "off"), ("true", "on"), ("false", "off"), ("auto", "auto")],
)
def test_sandbox(written, sandbox):
    assert one(f"transform: {{cmd: [a], sandbox: {written}}}").transform.sandbox == sandbox


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("10s", 10), ("1h30m", 5400), ("1.5s", 1.5), ("250ms", 0.25), ("2d", 172_800), ("7", 7)],
)
def test_durations(written, seconds):
    assert one(f"datum_timeout: {written}").datum_timeout == seconds


@pytest.mark.parametrize(
    ("written", "size"),
    [("1GB", 10**9), ("512Mi", 2**29), ("100MB", 10**8), ("1.5K", 1500), ("64m", 64 * 10**6),
     ("1 GiB", 2**30), ('"123"', 123), ("123", 123), ("5b", 5)],
)  # fmt: skip
def test_sizes(written, size):
    assert one(f"resource_limits: {{memory: {written}}}").transform.memory == size


def test_what_has_no_meaning_here_is_told_once():
    text = """
pipeline: {name: a}
transform: {cmd: [a], image: "x:1", debug: true, imagePullSecrets: [a], user: ""}
input: {pfs: {repo: r, glob: /, commit: abc}}
podPatch: "[]"
autoscaling: false
resource_limits: {cpu: 1, memory: 1Gi}
resource_requests: {memory: 1Gi}
salt: abc
---
pipeline: {name: b}
transform: {cmd: [a], image: "x:2"}
input: {union: [{pfs: {repo: r, glob: /, commit: a}}, {pfs: {repo: q, glob: /, commit: a}}]}
"""
    assert read(text).ignored == (
        "transform.image",
        "transform.debug",
        "transform.imagePullSecrets",
        "input.pfs.commit",
        "podPatch",
        "resource_limits.cpu",
        "resource_requests",
        "salt",
        "input.union.pfs.commit",
    )


PACHYDERM = """
pipeline tf_job transform parallelism_spec egress update output_branch s3_out resource_requests
resource_limits sidecar_resource_limits input description reprocess service spout datum_set_spec
datum_timeout job_timeout salt datum_tries scheduling_spec pod_spec pod_patch spec_commit metadata
reprocess_spec autoscaling tolerations sidecar_resource_requests dry_run determined
maximum_expected_uptime
transform.image transform.cmd transform.err_cmd transform.env transform.secrets
transform.image_pull_secrets transform.stdin transform.err_stdin transform.accept_return_code
transform.debug transform.user transform.working_dir transform.dockerfile transform.memory_volume
transform.datum_batching
input.pfs.project input.pfs.name input.pfs.repo input.pfs.repo_type input.pfs.branch
input.pfs.commit input.pfs.glob input.pfs.join_on input.pfs.outer_join input.pfs.group_by
input.pfs.lazy input.pfs.empty_files input.pfs.s3 input.pfs.trigger input.pfs.propagation_spec
input.pfs.reference
"""


@pytest.mark.parametrize("field", PACHYDERM.split())
def test_every_field_of_pachyderm_is_known(field):
    """It means something, is named as ignored, or is refused with a reason of its own."""
    spec: dict[str, Any] = {
        "pipeline": {"name": "a"},
        "input": {"pfs": {"repo": "r", "glob": "/"}},
        "transform": {"cmd": ["x"]},
    }
    *above, name = field.split(".")
    place = spec
    for key in above:
        place = place[key]
    place[name] = ["nonsense"]
    said = ""
    try:
        read(json.dumps(spec), "a.json")
    except InvalidSpec as error:
        said = error.message
    assert "is not a field" not in said


def test_propagation_as_pachyderm_writes_it():
    text = "pipeline: {name: p}\ntransform: {cmd: [a]}\ninput: {pfs: {repo: r, glob: /, %s}}"
    for written, propagates in (
        ("propagation_spec: {never: true}", False),
        ("propagationSpec: {never: true}", False),
        ("propagation_spec: {never: false}", True),
        ("propagation_spec: {}", True),
        ("propagation_spec:", True),
    ):
        (made,) = read(text % written).specs
        (leaf,) = leaves(made.spec.input)
        assert leaf.propagation is propagates


def test_a_spec_as_pachyderm_extracts_it():
    """Its JSON has camel case, numbers as text, and values for what was never asked for."""
    text = """{
	"pipeline": {"project": {"name": "default"}, "name": "edges"},
	"transform": {"image": "pachyderm/opencv:1.0", "cmd": ["python3", "/edges.py"],
		"errCmd": ["true"], "acceptReturnCode": ["1"], "datumBatching": false},
	"parallelismSpec": {"constant": "0"},
	"outputBranch": "master",
	"input": {"pfs": {"project": "default", "name": "images", "repo": "images", "repoType": "user",
		"branch": "master", "glob": "/*", "emptyFiles": false, "s3": false}},
	"datumTries": "3",
	"datumSetSpec": {"number": "5", "sizeBytes": "0", "perWorker": "2"},
	"datumTimeout": "30s",
	"reprocessSpec": "until_success",
	"s3Out": false, "service": null, "egress": null, "podPatch": "", "autoscaling": false,
	"salt": "0123"
}
{"pipeline": {"name": "montage"}, "transform": {"cmd": ["sh"], "stdin": ["ls"]},
 "input": {"cross": [{"pfs": {"repo": "edges", "glob": "/"}},
                     {"pfs": {"repo": "images", "glob": "/"}}]}}
"""
    specs = read(text, name="all.json")
    edges, montage = specs.specs
    assert edges.spec.transform == Transform(
        cmd=("python3", "/edges.py"), err_cmd=("true",), accept_return_code=(1,)
    )
    assert edges.spec.parallelism is None
    assert (edges.spec.set_number, edges.spec.set_bytes) == (5, None)
    assert edges.spec.datum_timeout == 30
    assert edges.spec.output_branch == "master"
    assert edges.where == "all.json:1"
    assert montage.where == "all.json:16"
    assert specs.ignored == ("transform.image", "datumSetSpec.perWorker", "salt")


# Forms of text ----------------------------------------------------------------------------

SPEC = {
    "pipeline": {"name": "a"},
    "input": {"pfs": {"repo": "r", "glob": "/"}},
    "transform": {"cmd": ["x"]},
}
OTHER = {**SPEC, "pipeline": {"name": "b"}}


@pytest.mark.parametrize("indent", [None, 2, "\t"])
@pytest.mark.parametrize("name", ["a.json", "a.yaml", "-", "A.JSON", "a"])
def test_json_under_any_name(name, indent):
    texts = [
        json.dumps([SPEC, OTHER], indent=indent),
        "\n".join(json.dumps(spec, indent=indent) for spec in (SPEC, OTHER)),
    ]
    for text in texts:
        assert [str(made.spec.name) for made in read(text, name=name).specs] == ["a", "b"]


def test_yaml_in_flow_style_is_not_json():
    text = "{pipeline: {name: a}, input: {pfs: {repo: r, glob: /}}, transform: {cmd: [x]}}"
    assert read(text).specs[0].spec.name.repo == "a"


def test_what_is_neither_json_nor_yaml_is_bad_json():
    text = '{\n\t"pipeline": {"name": "a"},\n\t"input": {"pfs" {}}\n}\n'
    assert refused(text, "-").message == 'stdin:3: a ":" is wanted after "pfs".'


@pytest.mark.parametrize("year", ["0001", "1969", "9999"])
def test_times_out_of_all_reason(year):
    text = f"schedule: {{cron: '@daily', start: '{year}-01-01', timezone: Asia/Tokyo}}"
    assert refused(whole(text)).message.endswith("is not a time.")


def test_empty_documents_are_skipped_and_lists_are_several():
    text = "---\n---\n# nothing\n---\n" + json.dumps([SPEC]) + "\n---\n" + json.dumps(OTHER)
    specs = read(text).specs
    assert [made.where for made in specs] == ["a.yaml:5", "a.yaml:7"]


@pytest.mark.parametrize("name", ["a.yaml", "a.json", "a.jsonnet", "-"])
@pytest.mark.parametrize("text", ["", "  \n", "null", "[]"])
def test_nothing_in_it(name, text):
    if name == "a.jsonnet" and not text.strip():
        assert "a.jsonnet:" in refused(text, name).message
    else:
        assert refused(text, name).message.endswith(": there is no pipeline in it.")


def test_yaml_merges_and_repeats():
    specs = read(
        """
- &first
  pipeline: {name: a}
  input: &in {pfs: {repo: r, glob: /}}
  transform: {cmd: [x]}
- <<: *first
  pipeline: {name: b}
- <<: [*first]
  pipeline: {name: c}
  input: *in
"""
    ).specs
    assert [made.spec.name.repo for made in specs] == ["a", "b", "c"]
    assert len({made.spec.input for made in specs}) == 1


def test_a_problem_in_what_was_merged_is_where_it_was_written():
    text = whole("x-shared: 1").replace("x-shared: 1", "metadata:\n  labels: &a {b: 5}")
    assert refused(text).message.startswith("a.yaml:2: metadata.labels.b must be text")


def test_yaml_words_are_those_of_version_two():
    spec = one("description: no\nmetadata: {labels: {a: on, b: 12:30, c: 2026-01-01, d: y}}")
    assert spec.description == "no"
    assert dict(spec.metadata)["labels.c"] == "2026-01-01"


def test_a_bomb_of_aliases():
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for this, before in zip("bcdefghi", "abcdefgh", strict=True):
        lines.append(f"{this}: &{this} [{', '.join(['*' + before] * 10)}]")
    assert "more than 100,000 values" in refused("\n".join(lines)).message


@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
def test_deep_nesting(name):
    for depth in (100, 100_000):
        assert "nested too deeply" in refused("[" * depth + "]" * depth, name).message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1,\n "a": 2}', 'a.json:2: "a" is here twice.'),
        ('{"a": 1,\n "b" 2}', 'a.json:2: a ":" is wanted after "b".'),
        ('{"a": 1\n "b": 2}', 'a.json:2: expected "," or "}".'),
        ('{"a": 1,\n}', 'a.json:2: there is a "," too many before "}".'),
        ('{\n a: 1}', 'a.json:2: expected a name in "double quotes".'),
        ('{"a":\n', "a.json:2: the text ends here."),
        ('{"a":\n what}', "a.json:2: expecting value."),
        ('{"a": NaN}', "a.json:1: NaN is not JSON."),
        ('{"a": "\n"}', "a.json:1: invalid control character at."),
        ('{"pipeline":\n {"name": 5}}', "a.json:2: pipeline.name must be text, not the number 5."),
        ("5", "a.json:1: A spec is a map of fields, not the number 5."),
        ('[{"pipeline": {}},\n5]', "a.json:1: pipeline.name is missing."),
        ('{"a": ' + "9" * 5000 + "}", "a.json:1: this is not a number we can read."),
    ],
)  # fmt: skip
def test_json_that_is_none(text, said):
    assert refused(text, "a.json").message == said


def test_text_that_no_program_can_be_given():
    text = json.dumps({**SPEC, "description": "\ud800"})
    assert "U+D800" in refused(text, "a.json").message


def test_bytes_and_marks():
    assert read(b"\xef\xbb\xbf" + whole("").encode()).specs
    assert refused(b"a: b\nc: \xff\n").message == "a.yaml:2: this is not UTF-8."
    assert refused("a: b\nc: \x07\n").message == (
        "a.yaml:2: the character U+0007 may not be in YAML."
    )
    assert "more than 16,000,000" in refused(" " * 16_000_001).message


def test_a_pipeline_twice():
    text = f"{json.dumps(SPEC)}\n---\n{json.dumps(SPEC)}\n"
    assert refused(text).message == ("a.yaml:3: the pipeline a is already declared at a.yaml:1.")
    other = json.dumps({**SPEC, "pipeline": {"name": "a", "project": "shop"}})
    assert len(read(f"{json.dumps(SPEC)}\n---\n{other}\n").specs) == 2


def test_the_first_problem_of_the_file_is_named():
    text = "datum_tries: x\n" + whole("description: 5")
    assert refused(text).message.startswith("a.yaml:1: datum_tries")


def test_standard_input_has_a_name():
    assert refused("a: 1", "-").message == "stdin:1: a is not a field."


# jsonnet ----------------------------------------------------------------------------------

FUNCTION = """
function(name, repo='r') {
  pipeline: { name: name },
  input: { pfs: { repo: repo, glob: '/' } },
  transform: { cmd: ['x'] },
}
"""


def test_jsonnet_arguments():
    (made,) = read(FUNCTION, name="a.jsonnet", args={"name": "n", "repo": "q"}).specs
    assert made.spec.name.repo == "n"
    assert made.where == "a.jsonnet"
    variable = FUNCTION.replace("function(name, repo='r')", "").replace(
        "name: name", "name: std.extVar('name')"
    )
    variable = variable.replace("repo: repo", "repo: 'r'")
    (made,) = read(variable, name="a.jsonnet", args={"name": "m"}).specs
    assert made.spec.name.repo == "m"
    error = refused(variable, "a.jsonnet")
    assert error.message == 'a.jsonnet:3: the variable "name" has no value.'
    assert error.hint == "Give it one: --arg name=VALUE."


@pytest.mark.parametrize(
    ("text", "args", "said"),
    [
        (FUNCTION, {}, 'a.jsonnet: the parameter "name" has no value.'),
        (FUNCTION, {"name": "n", "x": "y"}, 'a.jsonnet: there is no parameter "x".'),
        ("{\n a: }", {}, 'a.jsonnet:2: unexpected: "}" while parsing terminal.'),
        ("{\n a: error 'no'}", {}, "a.jsonnet:2: no."),
        ("local f(x) = f(x) + 1; f(1)", {}, "a.jsonnet:1: max stack frames exceeded."),
        ("\0", {}, "a.jsonnet: the character U+0000 may not be in jsonnet."),
        ("{glbo: 1}", {}, "a.jsonnet: glbo is not a field."),
        ("[{}, {a: 1}]", {}, "a.jsonnet[0]: pipeline is missing."),
        ("import 'b'", {},
         'a.jsonnet:1: couldn\'t open import "b": imports are not possible here.'),
    ],
)  # fmt: skip
def test_jsonnet_that_cannot_be_read(text, args, said):
    assert refused(text, "a.jsonnet", args=args).message == said


def test_jsonnet_imports():
    files = {"dir/lib/b.libsonnet": FUNCTION, "dir/lib/c": "not used"}
    asked = []

    def read_import(folder, path):
        asked.append((folder, path))
        if folder + path not in files:
            raise NotFound(f"There is no {path}.")
        return files[folder + path]

    text = "[(import 'lib/b.libsonnet')(name) for name in ['p', 'q']]"
    specs = read(text, name="dir/a.jsonnet", read_import=read_import).specs
    assert [made.spec.name.repo for made in specs] == ["p", "q"]
    assert asked == [("dir/", "lib/b.libsonnet")]
    with pytest.raises(NotFound, match="There is no gone"):
        read("import 'gone'", name="dir/a.jsonnet", read_import=read_import)


def test_only_jsonnet_takes_arguments():
    with pytest.raises(Usage, match="takes no arguments"):
        read(whole(""), args={"a": "b"})


def test_refusals_are_usage_errors():
    assert issubclass(InvalidSpec, Usage)
    assert not issubclass(InvalidGlob, InvalidSpec)


def test_importing_loads_no_parser():
    code = (
        "import sys, trunkline, trunkline.pipelines.spec, trunkline.pipelines.dsl;"
        "print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"pydantic", "yaml", "_jsonnet", "pyspark"}.isdisjoint(done.stdout.split())
