"""One run of a tracker, MLflow or Weights & Biases, for each job: over all its attempts."""
