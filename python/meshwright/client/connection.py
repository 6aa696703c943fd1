"""What a connection to a coordinator takes, and why there is none, in one line."""

import ipaddress
import socket
import ssl
from collections.abc import Mapping

from meshwright.errors import MeshwrightError
from meshwright.files import read_bytes

_SECONDS = 2
# What clients of HTTP/2 begin with, and empty settings.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
_SETTINGS = 4  # The kind of frame that servers begin with.
_TLS = {"ca": "CERTIFICATE", "cert": "CERTIFICATE", "key": "PRIVATE KEY"}
# X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH.
_OTHER_NAME = (62, 64)


def read_tls(files: Mapping[str, str]) -> dict[str, bytes]:
    """The contents of {"ca": ..., "cert": ..., "key": ...}, in PEM form."""
    for name in files:
        if name not in _TLS:
            raise MeshwrightError(f"tls has no {name!r}; there are {', '.join(_TLS)}")
    if ("cert" in files) != ("key" in files):
        raise MeshwrightError("tls: cert and key go together")
    read = {name: read_bytes(path) for name, path in files.items()}
    for name, content in read.items():
        if f"{_TLS[name]}-----".encode() not in content:
            raise MeshwrightError(
                f"tls: {name}={files[name]} holds no {_TLS[name]} in PEM form"
            )
    return read


def require_secret_token(address: str, tls: Mapping | None) -> None:
    """Refuses to send a token to another machine in the clear."""
    host, _ = _split(address)
    if not tls and not _is_loopback(host):
        raise MeshwrightError(
            f"the token would go to {address} in the clear: give "
            'tls={"ca": FILE}, who signs its certificate'
        )


def why_unavailable(address: str, tls: Mapping | None, said: str) -> str:
    """Why gRPC, which `said` so, has no connection, and what to do."""
    host, port = _split(address)
    try:
        with _connect(host, port):
            pass
    except socket.gaierror as error:
        return f"{address}: {host} does not resolve: {error.strerror}"
    except ConnectionRefusedError:
        return (
            f"no coordinator answers at {address}: start one with meshwright "
            f"serve --listen {address}"
        )
    except OSError as error:
        return f"{address} cannot be reached: {error.strerror or error}"
    why = _why_not_tls(address, tls) if tls else _why_not_plain(address)
    return why or f"no connection to {address}: {said}"


def why_refused(address: str, has_token: bool) -> str:
    if has_token:
        return f"{address} refuses the token: check token= or $MESHWRIGHT_TOKEN"
    return f"{address} wants a token: give token=, or set $MESHWRIGHT_TOKEN"


def _why_not_plain(address: str) -> str | None:
    host, port = _split(address)
    with _connect(host, port) as plain:
        try:
            plain.sendall(_PREFACE)
            answer = plain.recv(4)
        except TimeoutError:
            return f"{address} does not answer: is it a coordinator's?"
        except OSError:
            answer = b""
    if len(answer) == 4 and answer[0] == 0 and answer[3] == _SETTINGS:
        return None
    if _speaks_tls(host, port):
        return f'{address} uses TLS: give tls={{"ca": FILE}}, who signs its certificate'
    return f"{address} is no Meshwright coordinator, but another server"


def _speaks_tls(host: str, port: int) -> bool:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with _connect(host, port) as plain, context.wrap_socket(plain):
            return True
    except OSError:  # Also those of ssl.
        return False


def _why_not_tls(address: str, tls: Mapping[str, str]) -> str | None:
    host, port = _split(address)
    if not _speaks_tls(host, port):
        return (
            f"{address} does not use TLS: leave tls out, or start it with --tls-cert "
            "and --tls-key"
        )
    context = ssl.create_default_context(cafile=tls.get("ca"))
    context.set_alpn_protocols(["h2"])
    if "cert" in tls:
        context.load_cert_chain(tls["cert"], tls["key"])
    try:
        with (
            _connect(host, port) as plain,
            context.wrap_socket(plain, server_hostname=host) as secured,
        ):
            # In TLS 1.3, what the other side thinks of us comes afterwards.
            secured.sendall(_PREFACE)
            if secured.recv(1):
                return None
    except ssl.SSLCertVerificationError as error:
        if error.verify_code in _OTHER_NAME:
            return (
                f"the certificate of {address} is for another host: make one for {host}"
            )
        return (
            f"the certificate of {address} does not pass with tls ca="
            f"{tls.get('ca')}: {error.verify_message}"
        )
    except TimeoutError:
        return f"{address} does not answer: is it a coordinator's?"
    except OSError:
        pass
    if "cert" in tls:
        return f"{address} refuses tls cert={tls['cert']}: who signed it?"
    return f"{address} wants a certificate of its clients: give tls cert and key"


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def _connect(host: str, port: int) -> socket.socket:
    return socket.create_connection((host, port), _SECONDS)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
