"""A cluster that encrypts, and wants a certificate and a token from each caller, whose permissions are rules."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import tensorflow_ignite as tfi
from certificates import make_authority
from local_nodes import GIVES_UP_AFTER_A_MINUTE
from tensorflow_ignite import Credentials
from tensorflow_ignite.testing import LocalCluster, node_configuration


def token(name: str) -> str:
    return f"the-token-of-{name}-which-nobody-else-may-see"


@dataclass(frozen=True)
class Secured:
    """A cluster, and the files with which one calls it."""

    cluster: LocalCluster
    files: dict[str, str]

    def who(self, secret: str | None) -> Credentials:
        """The credentials of somebody with a token."""
        return Credentials(token=secret, **self.files)

    def connect(self, name: str) -> tfi.Client:
        return tfi.connect(self.cluster.address, credentials=self.who(token(name)))


@contextmanager
def secured_cluster(
    folder: Path,
    nodes: int,
    names: Sequence[str],
    rules: Sequence[str],
    environment: Mapping[str, str] | None = None,
    lease: int = 20,
) -> Iterator[Secured]:
    """Starts nodes that know callers by their tokens; the first one may see them."""
    authority = make_authority(folder / "authority")
    node, mine = authority.issue("node", ["127.0.0.1"]), authority.issue("client")
    config = folder / "node.xml"
    config.write_text(
        node_configuration(
            node=GIVES_UP_AFTER_A_MINUTE,
            timeouts={"leaseSeconds": lease},
            security={
                "tokens": {name: hashlib.sha256(token(name).encode()).hexdigest() for name in names},
                "access": rules,
                "clientCertificates": "required",
                "tls": "required",
            },
        )
    )
    pems = {"CERTIFICATE": node.certificate, "KEY": node.key, "CA": authority.certificate}
    variables = {f"TENSORFLOW_IGNITE_TLS_{name}": str(path) for name, path in pems.items()}
    files = {
        "cafile": str(authority.certificate),
        "certfile": str(mine.certificate),
        "keyfile": str(mine.key),
    }
    caller = Credentials(token=token(names[0]), **files)
    with LocalCluster(
        nodes, config=config, environment={**variables, **(environment or {})}, credentials=caller
    ) as cluster:
        yield Secured(cluster, files)
