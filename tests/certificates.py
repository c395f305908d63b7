"""Certificates for tests, made with the program openssl: an authority, and what it signs for hosts and clients.

authority = make_authority(folder, "tests")
node = authority.issue("node", ["localhost", "127.0.0.1"])
old = authority.issue("old", ["localhost"], expired=True)
"""

from __future__ import annotations

import ipaddress
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_CONFIG = """
[ca]
default_ca = one
[one]
dir = .
database = index.txt
new_certs_dir = .
serial = serial
default_md = sha256
policy = any
copy_extensions = none
unique_subject = no
[any]
commonName = supplied
[authority]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
"""

STORE_PASSWORD = "changeit"


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key."""

    name: str
    certificate: Path
    key: Path


@dataclass(frozen=True)
class Authority:
    """Signs certificates."""

    folder: Path
    certificate: Path

    def issue(self, name: str, hosts: Sequence[str] = (), *, expired: bool = False, password: str = "") -> Certificate:
        """Makes a certificate, for a node that is reached by some names and addresses, or for a client."""
        found = Certificate(name, self.folder / f"{name}.pem", self.folder / f"{name}-key.pem")
        _make_key(found.key)
        _openssl(self.folder, "req", "-new", "-key", found.key, "-subj", f"/CN={name}", "-out", f"{name}.csr")
        alternatives = ",".join(f"{'IP' if _is_address(host) else 'DNS'}:{host}" for host in hosts)
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(
            "basicConstraints=CA:false\nextendedKeyUsage=serverAuth,clientAuth\n"
            "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
            + (f"subjectAltName={alternatives}\n" if alternatives else "")
        )
        first, last = ("20200101000000Z", "20200201000000Z") if expired else ("20200101000000Z", "20991231000000Z")
        signed = ["-in", f"{name}.csr", "-out", found.certificate, "-extfile", extensions, "-notext", "-batch"]
        authority = ["-cert", self.certificate, "-keyfile", "authority-key.pem", "-config", "openssl.cnf"]
        _openssl(self.folder, "ca", *authority, *signed, "-startdate", first, "-enddate", last)
        if password:
            plain = found.key.rename(self.folder / f"{name}-plain.pem")
            _openssl(self.folder, "pkcs8", "-topk8", "-in", plain, "-out", found.key, "-passout", f"pass:{password}")
            plain.unlink()
            found.key.chmod(0o600)
        return found


def make_authority(folder: Path, name: str = "authority") -> Authority:
    """Makes an authority with files of its own in a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "openssl.cnf").write_text(_CONFIG)
    (folder / "index.txt").touch()
    (folder / "serial").write_text("1000\n")
    certificate, key = folder / "authority.pem", folder / "authority-key.pem"
    _make_key(key)
    own = ["-new", "-x509", "-key", key, "-subj", f"/CN={name}", "-days", "3650", "-out", certificate]
    _openssl(folder, "req", *own, "-config", "openssl.cnf", "-extensions", "authority")
    return Authority(folder, certificate)


def java_stores(folder: Path, authority: Authority, certificate: Certificate) -> tuple[Path, Path]:
    """Makes PKCS12 files as Java reads them, with `STORE_PASSWORD`: a certificate with its key, and its authority."""
    store, trust = folder / f"{certificate.name}.p12", folder / "trust.p12"
    files = ["-in", certificate.certificate, "-inkey", certificate.key, "-out", store]
    _openssl(folder, "pkcs12", "-export", "-name", "node", "-passout", f"pass:{STORE_PASSWORD}", *files)
    put = ["-importcert", "-noprompt", "-alias", "authority", "-storetype", "PKCS12", "-storepass", STORE_PASSWORD]
    _run(folder, "keytool", *put, "-keystore", trust, "-file", authority.certificate)
    return store, trust


def _make_key(path: Path) -> None:
    path.touch(mode=0o600)
    curve = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
    _openssl(path.parent, "genpkey", *curve, "-out", path)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _openssl(folder: Path, *arguments: object) -> None:
    _run(folder, "openssl", *arguments)


def _run(folder: Path, *command: object) -> None:
    ran = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True, timeout=30)
    assert ran.returncode == 0, f"{command[0]} {command[1]} failed: {ran.stdout}{ran.stderr}"
