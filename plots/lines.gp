# SPDX-License-Identifier: Apache-2.0
# Lines: y over x, a line a series, with a mark at every so many-th point (thin), other points in each series, and wider
# and with larger marks the further below it lies: of equal lines all are seen. What papers print (behind the series' own
# blocks) is hollow. Columns of the data: x, y, low, high.
# gnuplot's key has room for an entry also of an iteration over nothing
hollow = printed ? ", NaN with points pointtype 6 pointsize 1 linewidth 1.5 linecolor rgb '#333333' title 'printed'" : ''
wide(i) = 1.3 + 1.2 * below[i]
size(i) = mark_size * (1 + 0.6 * below[i])
range = ranges ? ', for [i=1:n] data index (i - 1) using 1:3:(0):($4 - $3) with vectors nohead linecolor rgb ink[i] linewidth 1.2 dashtype 1 notitle' : ''
plot for [i=1:n] data index (i - 1) using 1:2 with lines linestyle style[i] linewidth wide(i) notitle, \
     for [i=1:n] data index (i - 1) using 1:2 every thin::((i - 1) * thin / n) with points linestyle style[i] linewidth 1.5 pointsize size(i) notitle, \
     for [i=1:n] NaN with linespoints linestyle style[i] linewidth wide(i) pointsize size(i) title name[i] @range, \
     for [i=1:printed*n] data index (n + i - 1) using 1:2 with points pointtype 7 pointsize 1 linecolor rgb '#ffffff' notitle, \
     for [i=1:printed*n] data index (n + i - 1) using 1:2 with points pointtype 6 pointsize 1 linewidth 1.5 \
       linecolor rgb ink[i] notitle @hollow
