"""Files inside the cluster: ``ignite://[host:port[,host:port]]/path``.

`paths` reads URLs; `files` is the one door to the cluster's files, with `reader` and `writer` behind it; `filesystem`
is what fsspec, and so pandas, pyarrow and others, know them by. Importing this package loads none of them.
"""
