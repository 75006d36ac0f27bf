# One day of orders in, a count for each thing out. $orders is the file of this datum.
set -eu
day=$(basename "$(dirname "$orders")")
mkdir "pfs/out/$day"
{
  echo item,sold
  awk -F, 'NR > 1 { n = split($3, sold, " "); for (i = 1; i <= n; i++) count[sold[i]]++ }
           END    { for (item in count) print item "," count[item] }' "$orders" | sort
} > "pfs/out/$day/goods.csv"
