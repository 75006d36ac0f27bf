"""Lake paths as files for every library that knows fsspec: `tl://repo@ref/path`.

    pd.read_parquet("tl://orders@main~1/day=1/part.parquet")
    df.to_csv("tl://shop/orders@main/today.csv", storage_options={"lake": "https://lake.example"})

The first part with an "@" ends the repo; before it may stand its project. Without one the first
part is the repo, at main. A file is written as one commit when it is closed; `fs.transaction`
gathers all that is written in it into one commit for each repo. Nothing here imports Spark.
"""

from trunkline.filesystem.lakefs import LakeFileSystem

__all__ = ["LakeFileSystem"]
