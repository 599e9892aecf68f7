# Bars: y over categories, a bar a series. Columns of the data: x, y, low, high, (z), width of the bar. What papers print (behind
# the series' own blocks) is a hollow mark.
# gnuplot's key has room for an entry also of an iteration over nothing
hollow = printed ? ", NaN with points pointtype 6 pointsize 1 linewidth 1.5 linecolor rgb '#333333' title 'printed'" : ''
set style fill solid 0.9 noborder
# a logarithmic axis has no zero for a bar to stand on: there its end alone is drawn
shape = logarithmic ? '1:2 with points' : '1:2:6 with boxes'
entry = logarithmic ? 'points' : 'boxes'
size = logarithmic ? 'pointsize 1 linewidth 2' : ''
halo = logarithmic ? 0 : printed * n # would hide the dot
ring = logarithmic ? 1.7 : 1
if (ranges) {
  plot for [i=1:n] data index (i - 1) using @shape linestyle style[i] @size notitle, for [i=1:n] NaN with @entry linestyle style[i] @size title name[i], \
       for [i=1:n] data index (i - 1) using 1:3:(0):($4 - $3) with vectors nohead linecolor rgb '#333333' linewidth 1.2 notitle, \
       for [i=1:halo] data index (n + i - 1) using 1:2 with points pointtype 7 pointsize 1.4 linecolor rgb '#ffffff' notitle, \
       for [i=1:printed*n] data index (n + i - 1) using 1:2 with points pointtype 6 pointsize ring linewidth 1.5 \
         linecolor rgb ink[i] notitle @hollow
} else {
  plot for [i=1:n] data index (i - 1) using @shape linestyle style[i] @size notitle, for [i=1:n] NaN with @entry linestyle style[i] @size title name[i], \
       for [i=1:halo] data index (n + i - 1) using 1:2 with points pointtype 7 pointsize 1.4 linecolor rgb '#ffffff' notitle, \
       for [i=1:printed*n] data index (n + i - 1) using 1:2 with points pointtype 6 pointsize ring linewidth 1.5 \
         linecolor rgb ink[i] notitle @hollow
}
# SPDX-License-Identifier: Apache-2.0
