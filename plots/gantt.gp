# Timelines like EmbRace's Fig. 6: of each system two lanes, what is computed above what is on its way; a block of data
# a kind of operation or task. Columns: left, right, bottom, top.
set style fill solid 0.85 border linecolor rgb '#ffffff'
unset grid
set border 1
set ytics scale 0
set grid xtics linecolor rgb '#dddddd' linewidth 0.6 linetype 1
array shade[8] = ['#0072b2', '#56b4e9', '#666666', '#009e73', '#d55e00', '#e69f00', '#cc79a7', '#f0e442']
plot for [i=1:n] data index (i - 1) using 1:3:1:2:3:4 with boxxyerror linecolor rgb shade[i] title name[i], \
     texts using 1:2:3 with labels center font small textcolor rgb '#000000' notitle
