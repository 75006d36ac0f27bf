"""The history of one patient, line by line. One patient is one call: others are not touched."""

import csv
import io
import json

import pyarrow.parquet as parquet

import trunkline as tl

OF_A_SUBJECT = "/subject=(*)/*"


@tl.pipeline(
    input=tl.group(
        tl.pfs("patients", glob=OF_A_SUBJECT, group_by="$1"),
        tl.pfs("results", glob=OF_A_SUBJECT, group_by="$1"),
        tl.pfs("features", glob=OF_A_SUBJECT, group_by="$1"),
    ),
    description="What is known of each patient, in the order of time",
)
def history(datum):
    lines, folder = [], ""
    for file in datum.inputs.get("patients", []):
        folder = file.path.split("/")[1]
        card = json.loads(file.text())
        lines += [("", "diagnosis", code, "", "") for code in card["diagnoses"]]
    for file in datum.inputs.get("results", []):
        with file.open() as stream:
            rows = parquet.read_table(stream).to_pylist()
        lines += [(str(r["taken"]), "lab", r["name"], r["value"], r["flag"]) for r in rows]
    for file in datum.inputs.get("features", []):
        found = json.loads(file.text())
        flag = "finding" if found["spots"] else "normal"
        lines.append((found["taken"], "image", found["image"], found["spots"], flag))
    if folder:  # results of somebody who is no patient any more are nobody's history
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("taken", "kind", "what", "value", "flag"))
        writer.writerows(sorted(lines, key=lambda line: (line[0], line[1], line[2])))
        datum.write(f"{folder}/history.csv", text.getvalue())
