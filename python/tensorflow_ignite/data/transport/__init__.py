"""How batches travel: who is asked, shared memory, Arrow Flight, and the thin client port. Knows no TensorFlow."""
