# One day of clicks in, one line of figures out. $clicks is the file of this datum.
set -eu
day=$(basename "$(dirname "$clicks")")
awk -F, 'NR > 1 { views++; if (!seen[$2]++) visitors++ }
         END    { print "views,visitors"; print views "," visitors }' "$clicks" > "pfs/out/$day.csv"
