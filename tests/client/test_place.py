"""Which words are clusters, which are addresses, and what jax lowers for."""

import pytest

from meshwright.client.place import Place, is_address
from meshwright.errors import MeshwrightError


@pytest.mark.parametrize(
    "text", ["host-0:7777", "grpc://h200:80", "a.b:80", "[::1]:7777"]
)
def test_addresses(text):
    assert is_address(text)


@pytest.mark.parametrize(
    "text", ["cpu:8", "h200:64x8", "h200:8", "cluster.json", "a/b:7777"]
)
def test_clusters(text):
    assert not is_address(text)


@pytest.mark.parametrize(
    ("cluster", "platform"),
    [
        ("cpu:8", "cpu"),
        ("h200:8", "cuda"),
        ("tpu-v5p:8", "tpu"),
        ('{"hosts": 1, "devices_per_host": 4, "device": "cpu"}', "cpu"),
        ('{"hosts": 2, "devices_per_host": 8, "device": "h200"}', "cuda"),
    ],
)
def test_platforms(cluster, platform, tmp_path):
    if cluster.startswith("{"):
        (tmp_path / "cluster.json").write_text(cluster)
        cluster = tmp_path / "cluster.json"
    assert Place(cluster, None, None, None).platform == platform


@pytest.mark.parametrize("name", ["no/cluster", "cluster.json"])
def test_files_that_are_not_there(name, tmp_path):
    with pytest.raises(MeshwrightError, match=f"{name}: No such file or directory"):
        Place(tmp_path / name, None, None, None)
    with pytest.raises(MeshwrightError, match="Is a directory"):
        Place(tmp_path, None, None, None)


def test_from_the_environment(monkeypatch):
    monkeypatch.setenv("MESHWRIGHT_COORDINATOR", "host-0:7777")
    assert Place(None, None, None, None).name == "host-0:7777"
    monkeypatch.setenv("MESHWRIGHT_CLUSTER", "cpu:2")
    assert Place(None, None, None, None).name == "cpu:2"
    assert Place("cpu:3", None, None, None).name == "cpu:3"
