"""Transports of batches: shared memory, TCP, Arrow Flight, the thin client protocol. Without TensorFlow."""
