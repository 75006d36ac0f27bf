"""The tour of the small shop: pipelines on its days, one of them bad, and then a stream."""

from __future__ import annotations

from pathlib import Path

from trunkline.cli import sample
from trunkline.cli.demostream import StreamTour
from trunkline.cli.demotour import Spark, Stage
from trunkline.cli.output import Style

DAY_1, DAY_2, DAY_3 = "2026-01-01", "2026-01-02", "2026-01-03"
SPECS = "shop/clean.yaml shop/revenue.py shop/goods.yaml shop/report.yaml"
REPORT = "FROM report ORDER BY day"
COMPARED = (
    "SELECT day, was.euros AS before, now.euros AS now "
    "FROM report AS now LEFT JOIN report AT 'main~1' AS was USING (day) ORDER BY day"
)
BY_SHOP = "SELECT shop, round(sum(euros), 2) AS euros FROM revenue GROUP BY shop"


class ShopTour(Stage):
    def __init__(self, place: Path, style: Style, spark: Spark, *, silent: bool = False) -> None:
        super().__init__(place, style, silent=silent)
        self.spark = spark

    def give(self) -> None:
        sample.write_example(sample.SHOP, self.place / sample.SHOP)
        self.a_day()
        self.pipelines()
        self.another_day()
        self.a_bad_day()
        self.a_good_day()
        self.lineage()
        self.spark.stop()  # the worker has its own
        StreamTour(self).give()
        self.end()

    def a_day(self) -> None:
        self.say("A lake is a folder. A repo in it is a versioned tree of files.")
        self.run("init")
        self.run('repo create orders -d "What our shops sell"')
        self.say("A day of orders arrives, and is put. One put is one commit, and a table.")
        self.shell(f"python3 shop/day.py {DAY_1} incoming --table")
        self.run('put -r orders@main incoming -m "The first day"')
        self.run("table head orders@main -n 3")

    def pipelines(self) -> None:
        self.say("Pipelines say what is computed. One in SQL, day by day, with two rules:")
        self.shell("cat shop/clean.yaml")
        self.say("One in PySpark:")
        self.shell("cat shop/revenue.py")
        self.say("goods.yaml runs a command on each file. report.yaml joins both, in SQL.")
        self.spark.wait()
        self.run(f"pipeline apply {SPECS}")
        self.say(f"Spark started meanwhile, in {self.spark.seconds:.1f} s. It runs what waits.")
        self.run("run")
        self.run("draw")

    def another_day(self) -> None:
        self.say("The second day arrives. Only that day is read, and computed.")
        self.shell(f"python3 shop/day.py {DAY_2} incoming --table --flaw negative")
        self.run('put -r orders@main incoming -m "The second day"')
        self.run("run")
        self.say("One of 120 rows had a negative amount. It is in quarantine, not in the table:")
        self.run("checks clean --samples")
        self.run(f'sql "{REPORT}"')

    def a_bad_day(self) -> None:
        self.say("The third day arrives with every order twice.")
        self.shell(f"python3 shop/day.py {DAY_3} incoming --table --flaw twice")
        self.run('put -r orders@main incoming -m "The third day"')
        self.run("run", fails=True)
        self.say("Nothing was published. Readers see what they saw before:")
        self.run(f'sql "{REPORT}"')

    def a_good_day(self) -> None:
        self.say("The day is delivered again, as it was. Again only that day is computed.")
        self.shell(f"python3 shop/day.py {DAY_3} incoming --table")
        self.run('put -r orders@main incoming -m "The third day, each order once"')
        self.run("run")
        self.say("Every version stays. The report before and now, in one query:")
        self.run(f'sql "{COMPARED}"')

    def lineage(self) -> None:
        self.say("Who made this number? The tree goes up to the files that were put.")
        self.run(f"lineage --up revenue@main:/day={DAY_3}")
        self.run("lineage report@main --column euros")
        self.run("log --oneline report")

    def end(self) -> None:
        self.say("All of it is checked, down to the last byte:")
        self.run("fsck --deep")
        again = (
            "trunkline job list",
            f'trunkline sql "{BY_SHOP}" --plot',
            "trunkline table diff orders@main~1 orders@main",
            "trunkline stream status sessions",
            f"trunkline lineage report@main:/day={DAY_2}",
        )
        self.ending(again)
