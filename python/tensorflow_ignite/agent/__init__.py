"""The agent: a process that a node's service starts. It runs the node's tasks, and proves that they have ended.

`python -m tensorflow_ignite.agent` serves agent.proto. `lifecycle` runs from the first line of input to the proof that
no process is left. `server` is the only module that uses gRPC. `tasks` has all attempts of the node, `attempt` the
tasks and ports of one attempt, `task` starts and supervises one task, `keeper` ends all that comes from tasks, `watch`
sends reports of all tasks. `spares` keeps processes that have TensorFlow imported, in which tasks start faster: `spare`
is one of them, `spare_key` says which task fits. The other modules know no task: `process` (process trees and their
end), `work_directory`, `ports`, `gpus`, `lease`, `unpack`, `environment`, `output`, `progress`, `failure`, `memory`.
Two are never imported: each task starts as `launch`, which is its keeper, and each spare runs `spare_process`.
"""
