# Spans: boxes along x in lanes, a colour a series. Columns of the data: left, right, lane.
set style fill solid 0.85 border linecolor rgb '#ffffff'
set border 1
set ytics scale 0
unset grid
set grid xtics linecolor rgb '#dddddd' linewidth 0.6 linetype 1
plot for [i=1:n] data index (i - 1) using 1:3:1:2:($3 - 0.45):($3 + 0.45) with boxxyerror linecolor rgb ink[i] linewidth 0.6 notitle, for [i=1:n] NaN with boxes linecolor rgb ink[i] title name[i]
# SPDX-License-Identifier: Apache-2.0
