# What all panels share. Colours: Okabe and Ito's palette, which colour-blind readers can tell apart (its yellow last:
# it is faint on white), then some of Tol's; markers and, from the seventeenth series on, dashes differ too. Which series
# has which: src/figures/plot_palette.c.
set datafile missing 'NaN'
set termoption noenhanced
set border 3 linecolor rgb '#333333' linewidth 0.8
set tics nomirror out scale 0.5 textcolor rgb '#000000'
set xtics offset 0,0.3
set grid ytics linecolor rgb '#dddddd' linewidth 0.6 linetype 1
set key below center horizontal Left reverse samplen 1.6 spacing key_spacing
array colour[16] = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000', '#f0e442', \
  '#117733', '#882255', '#88ccee', '#999933', '#332288', '#aa4499', '#ddcc77', '#666666']
array mark[8] = [7, 5, 9, 13, 11, 4, 6, 8]
do for [i=1:64] {
  colour_i = colour[1 + (i - 1) % 16]
  mark_i = mark[1 + (i - 1) % 8]
  dash_i = 1 + (i - 1) / 16
  set style line i linecolor rgb colour_i linewidth 1.5 dashtype dash_i pointtype mark_i pointsize 0.45
}
