# Learning curves from `sparsync learn --plot-data FILE`: the loss as it is, faint, and its running mean.
#   gnuplot -e "data='FILE'" plots/learn.gp >curves.svg
# More that -e may set: title='...', log=1 (a logarithmic axis of steps), terminal 'pdf' (kind='pdf').
if (!exists('data')) { print "say which data to draw: gnuplot -e \"data='FILE'\" plots/learn.gp"; exit status 2 }
if (!exists('kind')) kind = 'svg'
if (kind eq 'pdf') { set terminal pdfcairo size 4in,3in font ',9' } else { set terminal svg size 560,420 font ',12' background 'white' }
stats data using 2 nooutput
# Colours as in all figures: Okabe and Ito's palette, which colour-blind readers can tell apart.
array colour[8] = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#c68900', '#4b9dcc', '#000000', '#997700']
set termoption noenhanced
set border 3 linecolor rgb '#333333' linewidth 0.8
set tics nomirror out scale 0.5
set grid ytics linecolor rgb '#dddddd' linewidth 0.6 linetype 1
set key top right reverse Left samplen 1.6
set xlabel 'step'
set ylabel 'loss (nats a word)'
if (exists('title')) set title title
if (exists('log')) set logscale x
do for [i=1:64] { set style line i linecolor rgb colour[1 + (i - 1) % 8] linewidth 1.6 dashtype 1 + (i - 1) / 8 }
n = int(STATS_blocks)
plot for [i=1:n] data index (i - 1) using 1:2 every ::1 with lines linewidth 0.4 linecolor rgb '#d8d8d8' notitle, \
     for [i=1:n] data index (i - 1) using 1:3 with lines linestyle i title columnheader(1)
# SPDX-License-Identifier: Apache-2.0
