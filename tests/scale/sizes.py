"""What the run has many of."""

from __future__ import annotations

NODES = 9
PARTITIONS = 2_048
ROWS = 10 * PARTITIONS
BACKUPS = 1
JOBS_OVER = 2_000
JOBS_RUNNING = 20
ATTEMPTS = 200

#: As they are in the file of the figures.
ALL = {
    "nodes": NODES,
    "partitions": PARTITIONS,
    "rows": ROWS,
    "jobs_over": JOBS_OVER,
    "jobs_running": JOBS_RUNNING,
    "tasks_of_a_job": NODES,
    "attempts": ATTEMPTS,
}

#: The cache whose partitions are on all nodes: a job on it has a task on each of them.
WIDE = "wide"
#: The cache of one partition: a job on it has one task.
NARROW = "narrow"

#: Properties of the bean TensorFlowService. Each node has room for a task of each of the jobs at once, and of those
#: beside them. The healthy time is short, so that the back-off after a crash does not grow to 30 s.
BEAN = {"timeouts": {"healthySeconds": 1}, "jobs": {"maxTasks": JOBS_RUNNING + 10}}

#: Longest wait for an answer of a node, which shares two processors with all others.
CALL_SECONDS = 60.0
#: Longest wait for a stage of the run.
STAGE_SECONDS = 1_500.0
