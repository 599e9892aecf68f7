# Lines: y over x, a line a series. Columns of the data: x, y, low, high.
if (ranges) {
  plot for [i=1:n] data index (i - 1) using 1:2 with linespoints linestyle style[i] title name[i], \
       for [i=1:n] data index (i - 1) using 1:3:(0):($4 - $3) with vectors nohead linestyle style[i] notitle
} else {
  plot for [i=1:n] data index (i - 1) using 1:2 with linespoints linestyle style[i] title name[i]
}
