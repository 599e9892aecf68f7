# A heat map: z as colour over x and y; its value in the cell where there is room. Columns: x, y, (low, high), z.
set style fill solid 1 noborder
unset grid
set palette defined (0 '#f7fbff', 0.25 '#c6dbef', 0.5 '#6baed6', 0.75 '#2171b5', 1 '#08306b')
set cbrange [0:most]
set cbtics offset -0.6,0
plot data using 1:2:(0.5):(0.5):5 with boxxyerror linecolor palette notitle, \
     data using 1:2:(room ? sprintf($5 < 10 ? '%.1f' : '%.0f', $5) : ''):($5 > 0.5 * most ? 0xffffff : 0x000000) \
       with labels font small textcolor rgb variable notitle
# SPDX-License-Identifier: Apache-2.0
