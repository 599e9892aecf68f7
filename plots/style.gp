# What all panels share. Colours: Okabe and Ito's palette, which colour-blind readers can tell apart, then some of Tol's; those
# that would have less contrast on white than 3:1 are darker here. Each style has the next of eight marks, none of them hollow, as
# what papers print is, and the next of five dashes: no two of forty styles have both alike.
# Which series has which: src/figures/plot_palette.c.
set datafile missing 'NaN'
set termoption noenhanced
set border 3 linecolor rgb '#333333' linewidth 0.8
set tics nomirror out scale 0.5 textcolor rgb '#000000'
set xtics offset 0,0.3
set format tic_format # the usual one has a space in front, and stands off its tic
set grid ytics linecolor rgb '#dddddd' linewidth 0.6 linetype 1
set key below center horizontal Left reverse samplen 1.6 spacing key_spacing
array colour[24] = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#c68900', '#4b9dcc', '#000000', '#997700', \
  '#117733', '#882255', '#42a494', '#999933', '#332288', '#666666', '#6699cc', '#aa4499', \
  '#e7298a', '#8c564b', '#00868b', '#7a5195', '#b22222', '#3f7f3f', '#2f4f8f', '#d87c65']
array mark[8] = [7, 5, 9, 13, 11, 3, 2, 1]
# in halves of the line's width; a key's sample has room for a whole period of the widest line (key_sample)
set dashtype 2 (12, 8)
set dashtype 3 (2, 6)
set dashtype 4 (12, 6, 2, 6)
set dashtype 5 (6, 5, 2, 5, 2, 5)
array dash[88]
do for [i=1:88] {
  colour_i = colour[1 + (i - 1) % 24]
  mark_i = mark[1 + (i - 1) % 8]
  dash[i] = 1 + (i - 1) % 5
  dash_i = dash[i]
  set style line i linecolor rgb colour_i linewidth 1.5 dashtype dash_i pointtype mark_i pointsize mark_size
}
# SPDX-License-Identifier: Apache-2.0
