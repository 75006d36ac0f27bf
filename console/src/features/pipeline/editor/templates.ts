/** Pipelines to begin with. Each teaches its kind: what is one datum, and what it makes of it. */
import { toData } from "../files";
import type { Start } from "./useDraft";

export interface Template {
  id: string;
  title: string;
  about: string;
  make: (name: string, repo: string) => Start;
}

const file = (path: string, text: string) => toData({ path, text, data: "" });

/** A repo's name as SQL writes it. */
const table = (repo: string) => (/^\w+$/.test(repo) ? repo : `\`${repo}\``);

const sql = (name: string, repo: string): Start => ({
  text: `pipeline: {name: ${name}}
description: What it is for, in a sentence
input:
  pfs:
    repo: ${repo}
    # Each file or folder that matches is a datum: a unit of work. "/" is one, with everything.
    glob: /
transform:
  # Spark SQL. An input is a table by its name.
  sql: |
    SELECT * FROM ${table(repo)}
  # whole: all datums as one. together, each and append compute only what changed.
  mode: whole
# What must hold of every row; else the job fails, or the rows are put aside:
# expectations:
#   - {expr: amount >= 0, action: quarantine}
`,
  files: [],
});

const python = (name: string, repo: string): Start => ({
  text: `pipeline: {name: ${name}}
description: What it is for, in a sentence
input:
  pfs:
    repo: ${repo}
    # Each file at the top is a datum, and is given to the function by itself.
    glob: /*
transform:
  # The function in the file beside this one.
  python: ${name.replace(/\W/g, "_")}.py:work
`,
  files: [
    file(
      `/${name.replace(/\W/g, "_")}.py`,
      `"""Called once for each datum. What it writes counts when it returns, not if it raises."""


def work(datum):
    file = datum.file("${repo}")
    datum.write(file.path, file.text().upper())
`,
    ),
  ],
});

const cmd = (name: string, repo: string): Start => {
  const variable = `$${repo.replace(/\W/g, "_")}`;
  return {
    text: `pipeline: {name: ${name}}
description: What it is for, in a sentence
input:
  pfs:
    repo: ${repo}
    # Each file at the top is a datum. The program runs once for each that is new or changed.
    glob: /*
transform:
  cmd: [sh, work.sh]
  # Files that travel with the pipeline.
  code: .
`,
    files: [
      file(
        "/work.sh",
        `# ${variable} is the file of this datum. What is put into pfs/out/ becomes the output.
set -eu
wc -l < "${variable}" > "pfs/out/$(basename "${variable}").lines"
`,
      ),
    ],
  };
};

const stream = (name: string, repo: string): Start => ({
  text: `pipeline: {name: ${name}}
description: What it is for, in a sentence
input:
  # A stream reads what is new in a table, batch by batch.
  pfs: {repo: ${repo}}
transform:
  stream: |
    SELECT * FROM ${table(repo)}
  # on_commit makes a batch of each commit; {interval: 1s} one every second.
  trigger: on_commit
  # append adds rows; {upsert: [id]} puts rows in the place of those with the same key.
  output: append
`,
  files: [],
});

export const TEMPLATES: Template[] = [
  { id: "sql", title: "SQL", about: "Tables from tables, by Spark SQL.", make: sql },
  {
    id: "python",
    title: "Python",
    about: "A function that is called for each datum.",
    make: python,
  },
  { id: "cmd", title: "Command", about: "Any program, run for each datum.", make: cmd },
  { id: "stream", title: "Stream", about: "A query that runs on, batch by batch.", make: stream },
];
