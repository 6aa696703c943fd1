"""The files of examples/launch/ are valid and mean what docs/launching.md says."""

import os
import subprocess

import pytest
import yaml
from conftest import ROOT, ranks

EXAMPLES = ROOT / "examples/launch"
OLDEST, NEWEST = "1.27", "1.37"  # Of Kubernetes.


def documents(name: str) -> dict[str, dict]:
    with open(EXAMPLES / name) as file:
        return {document["kind"]: document for document in yaml.safe_load_all(file)}


def job_of_job_set() -> dict:
    """The Job that the controller makes of it."""
    job_set = documents("jobset.yaml")["JobSet"]
    [replicated] = job_set["spec"]["replicatedJobs"]
    spec = replicated["template"]["spec"]
    spec["template"]["spec"]["subdomain"] = job_set["spec"]["network"]["subdomain"]
    name = f"{job_set['metadata']['name']}-{replicated['name']}-0"
    assert replicated["replicas"] == 1
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": spec,
    }


JOBS = {
    "kubernetes.yaml": lambda: documents("kubernetes.yaml")["Job"],
    "jobset.yaml": job_of_job_set,
}


@pytest.mark.parametrize("name", JOBS)
def test_pods_find_rank_0(name, rank_probe):
    job = JOBS[name]()
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    assert spec["completionMode"] == "Indexed"
    assert spec["parallelism"] == spec["completions"] == 4
    [container] = pod["containers"]
    assert container["command"] == ["meshwright", "worker"]
    given = {variable["name"]: variable["value"] for variable in container["env"]}
    found = []
    for index in range(4):
        env = {**given, "JOB_COMPLETION_INDEX": str(index)}
        found += ranks(subprocess.check_output([rank_probe], env=env, text=True))
    assert [probe["rank"] for probe in found] == [0, 1, 2, 3]
    assert {probe["world_size"] for probe in found} == {4}
    [port] = container["ports"]
    address = f"{job['metadata']['name']}-0.{pod['subdomain']}:{port['containerPort']}"
    assert {probe["join"] for probe in found} == {address}
    assert found[0]["listen"] == f"0.0.0.0:{port['containerPort']}"


def test_the_service_gives_the_pods_names():
    found = documents("kubernetes.yaml")
    service, job = found["Service"]["spec"], found["Job"]
    assert service["clusterIP"] == "None" and service["publishNotReadyAddresses"]
    assert service["selector"] == {"job-name": job["metadata"]["name"]}
    subdomain = job["spec"]["template"]["spec"]["subdomain"]
    assert subdomain == found["Service"]["metadata"]["name"]


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_kubernetes_takes_them(version):
    validate = pytest.importorskip("kubernetes_validate").validate
    for document in [*documents("kubernetes.yaml").values(), job_of_job_set()]:
        validate(document, version, strict=True)


def unknown(given, taken, path=""):
    """The fields of a document that are not in what a schema's model took of it."""
    if isinstance(given, dict):
        for name, value in given.items():
            place = f"{path}.{name}".lstrip(".")
            if name not in taken:
                yield place
            else:
                yield from unknown(value, taken[name], place)
    elif isinstance(given, list):
        for number, values in enumerate(zip(given, taken, strict=True)):
            yield from unknown(*values, f"{path}[{number}]")
    elif given != taken:
        yield path


def test_job_set_takes_it():
    """The schema of JobSet v1alpha2, as the API of Kubeflow's trainer contains it."""
    name = "kubeflow_trainer_api.models.jobset_v1alpha2_job_set"
    model = pytest.importorskip(name).JobsetV1alpha2JobSet
    job_set = documents("jobset.yaml")["JobSet"]
    assert job_set["apiVersion"] == "jobset.x-k8s.io/v1alpha2"
    assert list(unknown(job_set, model.from_dict(job_set).to_dict())) == []
    # What it does not know, or is of another type, is noticed.
    [replicated] = job_set["spec"]["replicatedJobs"]
    replicated["template"]["spec"]["completion"] = 4
    [found] = unknown(job_set, model.from_dict(job_set).to_dict())
    assert found == "spec.replicatedJobs[0].template.spec.completion"
    replicated["replicas"] = "one"
    with pytest.raises(ValueError, match="replicas"):
        model.from_dict(job_set)


@pytest.fixture
def workers_that_probe(tmp_path, rank_probe):
    """A PATH on which `meshwright worker` says who it is and waits."""
    program = tmp_path / "meshwright"
    program.write_text(
        f"#!/bin/sh\n[ $1 = worker ] && {rank_probe} >> $PROBED.$$\nexec sleep $WAIT\n"
    )
    program.chmod(0o755)
    return {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PROBED": str(tmp_path / "probed"),
        "WAIT": "0",
    }


def probed(folder) -> list[dict]:
    return ranks("".join(path.read_text() for path in folder.glob("probed.*")))


def test_the_batch_script_starts_workers(slurm_cluster, workers_that_probe, tmp_path):
    slurm_cluster.sbatch(EXAMPLES / "slurm.sbatch", env=workers_that_probe)
    found = probed(tmp_path)
    assert [probe["rank"] for probe in found] == [0, 1]
    assert [probe["local_rank"] for probe in found] == [0, 0]
    assert found[0]["runs_coordinator"] and not found[1]["runs_coordinator"]
    assert len({probe["join"] for probe in found}) == 1


def test_the_batch_script_ends_with_its_command(
    slurm_cluster, workers_that_probe, tmp_path
):
    env = {**workers_that_probe, "WAIT": "600"}
    command = ("sh", "-c", "sleep 2; echo at $MESHWRIGHT_COORDINATOR")
    said = slurm_cluster.sbatch(EXAMPLES / "slurm.sbatch", *command, env=env)
    assert f"at {probed(tmp_path)[0]['join']}\n" in said
