"""Ranks under a real Slurm."""

from concurrent.futures import ThreadPoolExecutor

from conftest import ranks


def steps(cluster, *words, env=None):
    done = cluster.srun(*words, env=env)
    assert done.returncode == 0, done.stderr
    return ranks(done.stdout)


def test_a_step_on_two_nodes(slurm_cluster, rank_probe):
    found = steps(slurm_cluster, "-N2", "--ntasks-per-node=2", rank_probe)
    assert [probe["rank"] for probe in found] == [0, 1, 2, 3]
    assert [probe["local_rank"] for probe in found] == [0, 1, 0, 1]
    assert {probe["world_size"] for probe in found} == {4}
    assert found[3]["text"] == "rank 3 of 4, from Slurm (SLURM_PROCID)"
    [address] = {probe["join"] for probe in found}
    host, port = address.split(":")
    assert host == slurm_cluster.nodes[0] and 20000 <= int(port) < 32768
    assert [probe["runs_coordinator"] for probe in found] == [True] + [False] * 3
    assert found[0]["listen"] == address  # Of a loopback address.


def test_jobs_and_steps_at_once_have_ports_of_their_own(slurm_cluster, rank_probe):
    one = ("-N1", "-n1", rank_probe, "1")
    with ThreadPoolExecutor() as threads:
        jobs = [threads.submit(steps, slurm_cluster, *one) for _ in range(3)]
        found = [probe for job in jobs for probe in job.result()]
    assert len({probe["join"] for probe in found}) == 3
    assert {probe["world_size"] for probe in found} == {1}


def test_a_batch_script_is_no_rank_but_its_steps_are(
    slurm_cluster, rank_probe, tmp_path
):
    script = tmp_path / "job.sh"
    script.write_text(
        f"#!/bin/sh\n{rank_probe}\nsrun -n2 {rank_probe}\n"
        f"export MASTER_ADDR=10.0.0.9 MASTER_PORT=99 WORLD_SIZE=7\nsrun {rank_probe}\n"
    )
    said = slurm_cluster.sbatch("-N2", "-n4", script)
    outside, *rest = said.splitlines()
    assert outside == "null"
    first, second = ranks("\n".join(rest[:2])), ranks("\n".join(rest[2:]))
    assert [probe["world_size"] for probe in first] == [2, 2]
    # The habit of scripts for PyTorch: where rank 0 is, but not who is who.
    assert [probe["rank"] for probe in second] == [0, 1, 2, 3]
    assert {probe["join"] for probe in second} == {"10.0.0.9:99"}
    assert second[0]["listen"] == "0.0.0.0:99"


def test_mpirun_in_an_allocation_knows_best(slurm_cluster, mpirun, rank_probe):
    """mpirun's daemons are steps, whose variables its ranks inherit."""
    argv = ["salloc", "--quiet", "-N2", "-n4", "mpirun", "--allow-run-as-root"]
    argv += ["-np", "4", rank_probe]
    done = slurm_cluster.run(*argv)
    assert done.returncode == 0, done.stderr
    found = ranks(done.stdout)
    assert [probe["rank"] for probe in found] == [0, 1, 2, 3]
    assert {probe["source"] for probe in found} == {"Open MPI"}
    assert len({probe["join"] for probe in found}) == 1
