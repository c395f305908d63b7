"""Files inside the cluster: ``ignite://[host:port[,host:port]]/path``.

`paths` parses URLs; `files` gives access to the cluster's files, with `reader` and `writer`; `filesystem` is the file
system of fsspec, which pandas, pyarrow and others use. Importing this package loads none of these modules.
"""
