"""A note for compliance about each day, in words. One day is one call."""

import pyarrow.parquet as parquet

import trunkline as tl

SENTENCES = {
    "off market": "{exec_id}: {trader} dealt {instrument} with {counterparty} far from the market"
    " ({score} deviations).",
    "wash trade": "{exec_id} and {other}: {trader} turned {instrument} round with {counterparty}"
    " within {score} seconds.",
}


@tl.pipeline(input=tl.pfs("alerts", glob="/day=*/"), description="The alerts of a day, in words")
def note(datum):
    lines, day = [], ""
    for file in datum.inputs["alerts"]:
        day = file.path.split("/")[1].removeprefix("day=")
        with file.open() as stream:
            rows = parquet.read_table(stream).to_pylist()
        lines += [SENTENCES[row["kind"]].format(**row) for row in rows]
    datum.write(f"{day}.txt", "\n".join([f"{day}: {len(lines)} alerts", *sorted(lines), ""]))
