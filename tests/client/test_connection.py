"""Connections that cannot be: one line, with the address and what to do."""

import contextlib
import http.server
import os
import socket
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

import meshwright
from meshwright.client import channel
from meshwright.client.channel import Service
from meshwright.client.engine import find_program

TOKEN = "sesame"


@pytest.fixture
def serve(monkeypatch):
    """serve(*flags, token=...): the address of a coordinator."""
    monkeypatch.delenv("MESHWRIGHT_TOKEN", raising=False)
    with contextlib.ExitStack() as stack:

        def start(*flags, token=None):
            env = os.environ | ({} if token is None else {"MESHWRIGHT_TOKEN": token})
            words = [find_program(), "serve", "--listen", "127.0.0.1:0", *flags]
            child = subprocess.Popen(
                list(map(str, words)), stdout=subprocess.PIPE, text=True, env=env
            )
            stack.callback(child.wait, 30)
            stack.callback(child.terminate)
            return child.stdout.readline().split()[2].rstrip(";")

        yield start


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """certificates(name, subject names): the files of one that signs itself."""
    folder = tmp_path_factory.mktemp("certificates")

    def make(name, names):
        cert, key = folder / f"{name}.pem", folder / f"{name}.key"
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-nodes", "-days", "1"]
        words += ["-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", f"/CN={name}"]
        words += ["-keyout", key, "-out", cert, "-addext", f"subjectAltName={names}"]
        subprocess.run(words, check=True, capture_output=True)
        return str(cert), str(key)

    return make


def told(address, **security):
    """What the first call says."""
    service = Service(address, **security)
    try:
        with pytest.raises(meshwright.MeshwrightError) as caught:
            service.status()
    finally:
        service.close()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@contextlib.contextmanager
def listening(answer):
    """The address of a server that treats each connection so."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = []

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    taken.append(server.accept()[0])
                    answer(taken[-1])

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        for one in taken:
            one.close()


def test_tokens(serve):
    address = serve(token=TOKEN)
    assert told(address) == (
        f"{address} wants a token: give token=, or set $MESHWRIGHT_TOKEN"
    )
    assert told(address, token="other") == (
        f"{address} refuses the token: check token= or $MESHWRIGHT_TOKEN"
    )
    service = Service(address, TOKEN)
    assert service.status()["workers"] == []
    service.close()
    # Nobody on the way may read it.
    assert told_at_once("example.com:7777", TOKEN) == (
        'the token would go to example.com:7777 in the clear: give tls={"ca": FILE}, '
        "who signs its certificate"
    )


def told_at_once(address, *args, **kwargs):
    with pytest.raises(meshwright.MeshwrightError) as caught:
        Service(address, *args, **kwargs)
    return str(caught.value)


def test_through_parallelize(serve, parallelize):
    address = serve(token=TOKEN)
    step = parallelize(lambda x: x + 1, cluster=address, token="other")
    with pytest.raises(meshwright.MeshwrightError, match=f"{address} refuses the tok"):
        step(1.0)


def test_tls(serve, certificates):
    cert, key = certificates("coordinator", "IP:127.0.0.1")
    address = serve("--tls-cert", cert, "--tls-key", key)
    service = Service(address, tls={"ca": cert})
    assert service.status()["workers"] == []
    service.close()
    assert told(address) == (
        f'{address} uses TLS: give tls={{"ca": FILE}}, who signs its certificate'
    )
    stranger, _ = certificates("stranger", "IP:127.0.0.1")
    line = told(address, tls={"ca": stranger})
    assert line.startswith(
        f"the certificate of {address} does not pass with tls ca={stranger}: "
    )
    plain = serve()
    assert told(plain, tls={"ca": cert}) == (
        f"{plain} does not use TLS: leave tls out, or start it with --tls-cert and "
        "--tls-key"
    )
    other, key = certificates("other", "DNS:elsewhere")
    address = serve("--tls-cert", other, "--tls-key", key)
    assert told(address, tls={"ca": other}) == (
        f"the certificate of {address} is for another host: make one for 127.0.0.1"
    )


def test_certificates_of_clients(serve, certificates):
    cert, key = certificates("coordinator", "IP:127.0.0.1")
    client, client_key = certificates("client", "DNS:client")
    address = serve("--tls-cert", cert, "--tls-key", key, "--tls-ca", client)
    service = Service(address, tls={"ca": cert, "cert": client, "key": client_key})
    assert service.status()["workers"] == []
    service.close()
    assert told(address, tls={"ca": cert}) == (
        f"{address} wants a certificate of its clients: give tls cert and key"
    )
    stranger, own_key = certificates("stranger", "DNS:stranger")
    tls = {"ca": cert, "cert": stranger, "key": own_key}
    assert told(address, tls=tls) == (
        f"{address} refuses tls cert={stranger}: who signed it?"
    )


def test_files_of_tls(certificates, tmp_path):
    cert, key = certificates("client", "DNS:client")
    address = "127.0.0.1:7777"
    for tls, line in (
        ({"cafile": cert}, "tls has no 'cafile'; there are ca, cert, key"),
        ({"cert": cert}, "tls: cert and key go together"),
        ({"ca": key}, f"tls: ca={key} holds no CERTIFICATE in PEM form"),
    ):
        assert told_at_once(address, tls=tls) == line
    gone = tmp_path / "gone.pem"
    assert str(gone) in told_at_once(address, tls={"ca": str(gone)})


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    assert told(address) == (
        f"no coordinator answers at {address}: start one with meshwright serve "
        f"--listen {address}"
    )
    assert told("no-such-host.invalid:7777").startswith(
        "no-such-host.invalid:7777: no-such-host.invalid does not resolve: "
    )


def test_the_port_of_another_server():
    class Quiet(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_address[1]}"
        assert told(address) == (
            f"{address} is no Meshwright coordinator, but another server"
        )
        server.shutdown()
    with listening(lambda one: one.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")) as address:
        assert told(address) == (
            f"{address} is no Meshwright coordinator, but another server"
        )
    other = grpc.server(ThreadPoolExecutor(1))
    address = f"127.0.0.1:{other.add_insecure_port('127.0.0.1:0')}"
    other.start()
    assert told(address) == f"{address} is no Meshwright coordinator, or an old one"
    other.stop(None).wait()


def test_a_server_that_does_not_answer():
    with listening(lambda _: None) as address:
        assert told(address) == f"{address} does not answer: is it a coordinator's?"


def test_another_protocol(serve, monkeypatch):
    address = serve()
    monkeypatch.setattr(channel, "PROTOCOL", "99")
    line = told(address)
    assert line.startswith(f"{address}: the client speaks protocol 99, the coordinator")
    assert line.endswith("install the same version")
