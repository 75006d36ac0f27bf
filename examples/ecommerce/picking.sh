# One day of orders in, a list for the warehouse out: each item and how many are fetched.
set -eu
day=$(basename "$(dirname "$orders")")
mkdir "pfs/out/$day"
{
  echo item,pieces
  awk -F, 'NR > 1 && $11 == "paid" && $8 > 0 { pieces[$7] += $8 }
           END { for (item in pieces) print item "," pieces[item] }' "$orders" | sort
} > "pfs/out/$day/picking.csv"
