"""Pure functions and small frozen types on arrays: no state, no files, no printing.

Letters used throughout, and at the line's end as shapes:

======  ==========================================
n       items
d       features
q       labels
m       inducing points, or rows of another batch
k       factors, or compressed dimensions
r       rank
s       samples
======  ==========================================

K is a kernel matrix, L a lower Cholesky factor, X features, Y labels (0/1), `observed` the mask of known labels.
"""
