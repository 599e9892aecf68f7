# Lines: y over x, a line a series, with a mark at every so many-th point (thin). Columns of the data: x, y, low, high.
if (ranges) {
  plot for [i=1:n] data index (i - 1) using 1:2 with linespoints linestyle style[i] pointinterval thin title name[i], \
       for [i=1:n] data index (i - 1) using 1:3:(0):($4 - $3) with vectors nohead linestyle style[i] notitle
} else {
  plot for [i=1:n] data index (i - 1) using 1:2 with linespoints linestyle style[i] pointinterval thin title name[i]
}
