# SPDX-License-Identifier: Apache-2.0
# Who wins where: the winner as colour, hatched where nobody does clearly (the last series); its margin to the next (%) as text.
# Columns: x, y, (low, high), z.
set style fill solid 1 border linecolor rgb '#ffffff'
unset grid
if (tie) ink[tie] = '#ffffff'
part(i, at) = (int('0x'.ink[i][at:at+1]) / 255.0)**2.2
pale(i) = 0.2126 * part(i, 2) + 0.7152 * part(i, 4) + 0.0722 * part(i, 6) > 0.18
hatch = tie ? ", data index (tie - 1) using 1:2:(0.5):(0.5) with boxxyerror fillstyle pattern hatching linecolor rgb '#8c8c8c' dashtype 1 notitle" : ''
entry = tie ? ", NaN with boxes fillstyle pattern hatching linecolor rgb '#8c8c8c' title name[tie]" : ''
plot for [i=1:n] data index (i - 1) using 1:2:(0.5):(0.5) with boxxyerror linecolor rgb ink[i] notitle, \
     for [i=1:tie ? n - 1 : n] NaN with boxes linecolor rgb ink[i] title name[i] @entry @hatch, \
     for [i=1:n] data index (i - 1) using 1:2:(!room || !($5 == $5) ? '' : sprintf('%.0f', $5)) \
       with labels font small textcolor rgb (pale(i) ? '#000000' : '#ffffff') notitle
