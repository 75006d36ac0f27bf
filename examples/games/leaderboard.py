"""Who leads: Elo ratings, match by match, for each season anew."""

from itertools import groupby
from operator import itemgetter

import pandas as pd

import trunkline as tl

START, MOST = 1500.0, 32.0
SCHEMA = "season INT, player STRING, rating DOUBLE, matches INT, won INT"


def rated(results: pd.DataFrame) -> pd.DataFrame:
    """A season's ratings: after each match the winners take from the losers."""
    ratings: dict[str, float] = {}
    played: dict[str, int] = {}
    won: dict[str, int] = {}
    rows = results.sort_values(["started_at", "match_id", "player"])
    lines = zip(rows.match_id, rows.player, rows.won, strict=True)
    for _, match in groupby(lines, key=itemgetter(0)):
        sides: dict[bool, list[str]] = {True: [], False: []}
        for _, player, is_winner in match:
            sides[bool(is_winner)].append(player)
        winners, losers = sides[True], sides[False]
        up = sum(ratings.get(p, START) for p in winners) / len(winners)
        down = sum(ratings.get(p, START) for p in losers) / len(losers)
        moved = MOST * (1 - 1 / (1 + 10 ** ((down - up) / 400)))
        for side, change in ((winners, moved), (losers, -moved)):
            for player in side:
                ratings[player] = ratings.get(player, START) + change
                played[player] = played.get(player, 0) + 1
                won[player] = won.get(player, 0) + (change > 0)
    return pd.DataFrame(
        {
            "season": results.season.iloc[0],
            "player": list(ratings),
            "rating": [round(rating, 6) for rating in ratings.values()],
            "matches": [played[player] for player in ratings],
            "won": [won[player] for player in ratings],
        }
    )


@tl.pipeline(
    input=tl.pfs("results", glob="/season=*/"),
    partition_by=["season"],
    description="Ratings of each season. A season that is over is not computed again",
    expectations=[tl.expect.unique("season", "player"), tl.expect("matches > 0")],
)
def leaderboard(results):
    return results.groupBy("season").applyInPandas(rated, SCHEMA)
