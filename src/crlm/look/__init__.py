"""What there is to look at: which rows, in which plane, in which colours. Numbers only."""
