"""One epoch of rows: how many, in which order, prefetched, kept, and as arrays for TensorFlow; knows no cluster."""
