"""Broadcast plans by linear programs (HiGHS): the best that trees can do, and how far off it may be.

A plan is a set of trees with rates, so the best one is a linear program with a column for each tree. There
are too many trees to write down; columns are made as they are needed (column generation): the program's
prices of links say which tree would gain most (`pricing`), until none gains. `cuts` bounds from above what
any plan can reach.
"""
