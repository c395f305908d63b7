"""The process that a node's service starts: it runs the node's tasks, and proves them gone.

`python -m tensorflow_ignite.agent` speaks proto agent.proto. `life` tells its story from the first line of input to
the proof that nothing is left. `server` is the only module that knows gRPC. `tasks` holds what runs here, `attempt`
what one attempt has here, `task` is the life of one task, `watch` tells of all of them. The others know no task:
`process` (trees and their end), `work`, `ports`, `lease`, `unpack`, `environment`, `output`, `progress`, `failure`.
`launch` is never imported: each task begins as that file.
"""
