"""ARFF, dense and sparse, with the ways MULAN and MEKA say which columns are labels."""
