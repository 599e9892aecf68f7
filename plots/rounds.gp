# Who sends to whom: an arrow a message, from lane to lane, in columns of rounds; the more bytes, the wider. A block of
# data for each of seven widths, of which the first is of empty messages. Columns of the data: x, y, and how far to the end.
unset grid
unset key
set border 0
plot data index 0 using 1:2:3:4 with vectors head filled size screen tip,18,60 fixed linecolor rgb '#999999' dashtype 2 linewidth 0.8 notitle, \
     for [w=1:6] data index w using 1:2:3:4 with vectors head filled size screen tip,18,60 fixed \
       linecolor rgb ink[1] linewidth 0.5 + 0.45 * w notitle
# SPDX-License-Identifier: Apache-2.0
