"""The PEM files of credentials: read and checked here, since gRPC's error would not name the faulty file."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.net.credentials import Credentials

# Files with a machine's trusted authorities in Linux distributions; Python's default has another name.
_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem")


@dataclass(frozen=True, repr=False)
class PemFiles:
    """Contents of the files of credentials.

    Attributes:
        authorities: Trusted certificates; None: the certificates that gRPC trusts by default.
        chain: The client's certificate with its chain; None: no certificate.
        key: The private key of the certificate.
    """

    authorities: bytes | None
    chain: bytes | None
    key: bytes | None

    @classmethod
    def read(cls, credentials: Credentials) -> PemFiles:
        """Reads and checks the files.

        Raises:
            InvalidRequestError: A file cannot be used, or ``verify`` is False.
        """
        if not credentials.verify:
            raise InvalidRequestError(
                "credentials have verify=False, which is for Ignite's thin client port only (transport='thin'). A node "
                "with the service is always verified: otherwise an attacker in the network could read every secret. "
                "Give the authority of its certificate as cafile"
            )
        context_of(credentials, trusting=bool(credentials.cafile))
        authorities = _trusted(credentials)
        chain = key = None
        if credentials.certfile:
            chain = _content(credentials.certfile, "certfile")
            key = _content(credentials.keyfile, "keyfile") if credentials.keyfile else chain
            if b"ENCRYPTED" in key:
                key = _decrypted(key, credentials)
        return cls(_content(authorities, "cafile") if authorities else None, chain, key)


def _trusted(credentials: Credentials) -> str | None:
    """Returns the path of the file with trusted certificates; None: this machine has no such file."""
    known = (credentials.cafile, ssl.get_default_verify_paths().cafile, *_BUNDLES)
    return credentials.cafile or next((path for path in known if path and Path(path).is_file()), None)


def _content(path: str, what: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise _unusable(what, path, f"cannot be read ({error.strerror})") from None


def _unusable(what: str, path: str, fault: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"{what} {path} of the credentials {fault}. certfile, keyfile and cafile are paths of PEM files on this "
        "machine; a key belongs to the first certificate in certfile. Name files that match"
    )


def _decrypted(key: bytes, credentials: Credentials) -> bytes:
    """Decrypts the key, since gRPC does not read encrypted keys."""
    path = str(credentials.keyfile or credentials.certfile)
    try:
        from cryptography.hazmat.primitives import serialization
    except ImportError:
        raise _unusable(
            "keyfile",
            path,
            "is encrypted, which takes the package cryptography to read. Install it (pip install cryptography), or "
            "keep the key unencrypted with mode 600 (openssl pkey -in KEY -out NEW)",
        ) from None
    password = (credentials.key_password or "").encode()
    # The password is right: the context was made with it.
    opened = serialization.load_pem_private_key(key, password)
    return bytes(
        opened.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )


def context_of(credentials: Credentials, *, trusting: bool = True) -> ssl.SSLContext:
    """Makes a context of Python's TLS from the same files.

    Args:
        credentials: Paths of the files.
        trusting: Load the trusted certificates, which is slow for the machine's own certificates.

    Raises:
        InvalidRequestError: A file cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # As in gRPC: a trusted certificate needs no chain to a root.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.set_alpn_protocols(["h2"])
    cafile = _trusted(credentials) if trusting else None
    try:
        if cafile:
            context.load_verify_locations(cafile)
    except OSError as error:  # includes SSLError
        raise _unusable("cafile", str(cafile), _fault(error, "contains no certificate")) from None
    if credentials.certfile:
        try:
            # Without a password, OpenSSL would ask for one on the terminal.
            context.load_cert_chain(credentials.certfile, credentials.keyfile, credentials.key_password or "")
        except OSError as error:
            names = " and keyfile ".join(filter(None, (credentials.certfile, credentials.keyfile)))
            fault = "cannot be used together: the key is another certificate's, has another password, or is no key"
            raise _unusable("certfile", names, _fault(error, fault)) from None
    return context


def _fault(error: OSError, otherwise: str) -> str:
    return otherwise if isinstance(error, ssl.SSLError) else f"cannot be read ({error.strerror})"
