"""Ranks under a real mpirun."""

from conftest import ranks


def test_ranks_of_mpirun(mpirun, rank_probe):
    found = ranks(mpirun("-np", 3, rank_probe))
    assert [probe["rank"] for probe in found] == [0, 1, 2]
    assert [probe["local_rank"] for probe in found] == [0, 1, 2]
    assert {probe["world_size"] for probe in found} == {3}
    assert found[2]["text"] == "rank 2 of 3, from Open MPI (OMPI_COMM_WORLD_RANK)"
    # All on one host: nobody else needs to get there.
    [address] = {probe["join"] for probe in found}
    assert address.startswith("127.0.0.1:") and found[0]["listen"] == address


def test_an_address_for_all(mpirun, rank_probe):
    given = ("-x", "MESHWRIGHT_COORDINATOR=ib0:7000")
    found = ranks(mpirun("-np", 2, *given, rank_probe))
    assert {probe["join"] for probe in found} == {"ib0:7000"}
    assert [probe["listen"] for probe in found] == ["0.0.0.0:7000", ""]
