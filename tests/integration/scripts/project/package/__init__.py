"""Part of a job's code."""

HERE = __file__
