"""Loading of rows into a cache: inputs of all kinds as record batches of one schema."""
