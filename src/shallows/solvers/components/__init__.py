"""Components of one view (`oja`) or of two (`kernel_svd`, `kernel_cca`), as growing blocks of features."""
