# Bars: y over categories, a bar a series. Columns of the data: x, y, low, high, (z), width of the bar.
set style fill solid 0.9 noborder
if (ranges) {
  plot for [i=1:n] data index (i - 1) using 1:2:6 with boxes linestyle style[i] title name[i], \
       for [i=1:n] data index (i - 1) using 1:3:(0):($4 - $3) with vectors nohead linecolor rgb '#333333' linewidth 1.2 notitle
} else {
  plot for [i=1:n] data index (i - 1) using 1:2:6 with boxes linestyle style[i] title name[i]
}
