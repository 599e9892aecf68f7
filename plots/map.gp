# Who wins where: the winner as colour, its margin to the next (%) as text. Columns: x, y, (low, high), z.
set style fill solid 0.55 border linecolor rgb '#ffffff'
unset grid
plot for [i=1:n] data index (i - 1) using 1:2:(0.5):(0.5) with boxxyerror linestyle style[i] notitle, for [i=1:n] NaN with boxes linestyle style[i] title name[i], \
     for [i=1:n] data index (i - 1) using 1:2:(!room || !($5 == $5) ? '' : sprintf('%.0f', $5)) \
       with labels font small textcolor rgb '#000000' notitle
# SPDX-License-Identifier: Apache-2.0
