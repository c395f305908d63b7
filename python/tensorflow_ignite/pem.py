"""The PEM files that credentials name: read, and checked, since gRPC would only say that no connection can be made."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.errors import InvalidRequestError

__all__ = ["PemFiles", "context_of"]

# Where Linux distributions keep the authorities that a machine trusts; Python looks for a file of another name.
_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem")


@dataclass(frozen=True, repr=False)
class PemFiles:
    """What the files of credentials hold.

    Attributes:
        authorities: Certificates that are trusted; None: gRPC brings along its own.
        chain: Of the client's certificate; None: it has none.
        key: Its private key.
    """

    authorities: bytes | None
    chain: bytes | None
    key: bytes | None

    @classmethod
    def read(cls, credentials: Credentials) -> PemFiles:
        """Reads them.

        Raises:
            InvalidRequestError: If one cannot be used, or ``verify`` is False.
        """
        if not credentials.verify:
            raise InvalidRequestError(
                "credentials say verify=False, which only Ignite's thin client port knows (transport='thin'). A node "
                "with the service is always verified: whoever stands between could read every secret. Give the "
                "authority of its certificate as cafile"
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
    """The file of the certificates that are trusted; None: this machine has no such file."""
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
        "machine; a key belongs to the first certificate in certfile. Correct it"
    )


def _decrypted(key: bytes, credentials: Credentials) -> bytes:
    """The key as gRPC wants it: it reads no encrypted one."""
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
    # The context has been made with this password: it is the right one.
    opened = serialization.load_pem_private_key(key, password)
    return bytes(
        opened.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )


def context_of(credentials: Credentials, *, trusting: bool = True) -> ssl.SSLContext:
    """The same for Python's own TLS.

    Args:
        credentials: Name the files.
        trusting: Load the certificates that are trusted, which takes a while when they are those of the machine.

    Raises:
        InvalidRequestError: If a file cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # As gRPC does it: whoever trusts a certificate trusts it without those above it.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.set_alpn_protocols(["h2"])
    cafile = _trusted(credentials) if trusting else None
    try:
        if cafile:
            context.load_verify_locations(cafile)
    except OSError as error:  # one of TLS is one too
        raise _unusable("cafile", str(cafile), _fault(error, "holds no certificate")) from None
    if credentials.certfile:
        try:
            # Without any password it would be asked for on the terminal.
            context.load_cert_chain(credentials.certfile, credentials.keyfile, credentials.key_password or "")
        except OSError as error:
            names = " and keyfile ".join(filter(None, (credentials.certfile, credentials.keyfile)))
            fault = "cannot be used together: the key is another certificate's, has another password, or is no key"
            raise _unusable("certfile", names, _fault(error, fault)) from None
    return context


def _fault(error: OSError, otherwise: str) -> str:
    return otherwise if isinstance(error, ssl.SSLError) else f"cannot be read ({error.strerror})"
