# Lines: y over x, a line a series, with a mark at every so many-th point (thin), other points in each series: equal lines
# show all their marks. What papers print (behind the series' own blocks) is
# hollow. Columns of the data: x, y, low, high.
# gnuplot's key has room for an entry also of an iteration over nothing
hollow = printed ? ", NaN with points pointtype 6 pointsize 1 linewidth 1.5 linecolor rgb '#333333' title 'printed'" : ''
if (ranges) {
  plot for [i=1:n] data index (i - 1) using 1:2 with lines linestyle style[i] notitle, \
       for [i=1:n] data index (i - 1) using 1:2 every thin::((i - 1) * thin / n) with points linestyle style[i] notitle, \
       for [i=1:n] NaN with linespoints linestyle style[i] title name[i], \
       for [i=1:n] data index (i - 1) using 1:3:(0):($4 - $3) with vectors nohead linecolor rgb ink[i] linewidth 1.2 dashtype 1 notitle, \
       for [i=1:printed*n] data index (n + i - 1) using 1:2 with points pointtype 7 pointsize 1 linecolor rgb '#ffffff' notitle, \
       for [i=1:printed*n] data index (n + i - 1) using 1:2 with points pointtype 6 pointsize 1 linewidth 1.5 \
         linecolor rgb ink[i] notitle @hollow
} else {
  plot for [i=1:n] data index (i - 1) using 1:2 with lines linestyle style[i] notitle, \
       for [i=1:n] data index (i - 1) using 1:2 every thin::((i - 1) * thin / n) with points linestyle style[i] notitle, \
       for [i=1:n] NaN with linespoints linestyle style[i] title name[i], \
       for [i=1:printed*n] data index (n + i - 1) using 1:2 with points pointtype 7 pointsize 1 linecolor rgb '#ffffff' notitle, \
       for [i=1:printed*n] data index (n + i - 1) using 1:2 with points pointtype 6 pointsize 1 linewidth 1.5 \
         linecolor rgb ink[i] notitle @hollow
}
# SPDX-License-Identifier: Apache-2.0
