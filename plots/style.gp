# What all panels share. Colours: Okabe and Ito's palette, which colour-blind readers can tell apart, then some of Tol's;
# none is paler on white than 2:1, so its yellow is not there. Eight styles are solid, eight dashed; of the others, which are of
# series without a style of their own, each has the next of five dashes. Marks differ too: none is hollow, as what papers print is.
# Which series has which: src/figures/plot_palette.c.
set datafile missing 'NaN'
set termoption noenhanced
set border 3 linecolor rgb '#333333' linewidth 0.8
set tics nomirror out scale 0.5 textcolor rgb '#000000'
set xtics offset 0,0.3
set grid ytics linecolor rgb '#dddddd' linewidth 0.6 linetype 1
set key below center horizontal Left reverse samplen 1.6 spacing key_spacing
array colour[24] = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000', '#997700', \
  '#117733', '#882255', '#44aa99', '#999933', '#332288', '#aa4499', '#6699cc', '#666666', \
  '#e7298a', '#8c564b', '#00868b', '#7a5195', '#b22222', '#3f7f3f', '#2f4f8f', '#f08a70']
array mark[8] = [7, 5, 9, 13, 11, 15, 2, 1]
array dash[88]
do for [i=1:88] {
  colour_i = colour[1 + (i - 1) % 24]
  mark_i = mark[1 + (i - 1) % 8]
  dash[i] = i <= 16 ? 1 + (i - 1) / 8 : 1 + (i - 17) % 5
  dash_i = dash[i]
  set style line i linecolor rgb colour_i linewidth 1.5 dashtype dash_i pointtype mark_i pointsize mark_size
}
# SPDX-License-Identifier: Apache-2.0
