"""What labels mean: clusters are 0, 1, 2, ... in the order found; one value stands for none."""

BACKGROUND = -1
