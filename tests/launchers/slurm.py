"""A Slurm cluster of this machine: a controller and nodes, all on loopback.

    with SlurmCluster(folder) as cluster:
        done = cluster.srun("-N2", "-n4", "hostname")

Nodes are called 127.0.0.1, 127.0.0.2, ...: names that lead to this machine, where
steps look for each other. Nothing outside `folder` is written.
"""

import getpass
import os
import secrets
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Self

from daemons import Daemons, await_true, free_ports

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "sinfo")

_CONF = """\
ClusterName=meshwright
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir={folder}/%n
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=2
MinJobAge=300
GresTypes=gpu
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
_NODE = (
    "NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} "
    "CPUs=4 RealMemory=1000 Gres=gpu:8 State=UNKNOWN"
)


def missing() -> str:
    """What is not installed; empty if all is."""
    path = search_path()
    absent = [name for name in PROGRAMS if not shutil.which(name, path=path)]
    return f"not installed: {', '.join(absent)}" if absent else ""


def search_path() -> str:
    """Daemons are not where users look for programs."""
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


class SlurmCluster:
    def __init__(self, folder: Path, nodes: int = 2):
        self.folder = folder
        self.nodes = [f"127.0.0.{number}" for number in range(1, nodes + 1)]
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("SLURM")}
        self.env = {
            **inherited,
            "PATH": search_path(),
            "SLURM_CONF": str(folder / "slurm.conf"),
        }
        self._daemons = Daemons(folder, self.env)

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._daemons.stop()
            raise
        return self

    def __exit__(self, *_) -> None:
        self._daemons.stop()

    def srun(self, *words, env=None, timeout=60) -> subprocess.CompletedProcess:
        return self.run("srun", *words, env=env, timeout=timeout)

    def sbatch(self, *words, env=None, timeout=60) -> str:
        """What the script and its steps print on stdout; fails if it does."""
        output = self.folder / f"job.{secrets.token_hex(4)}.out"
        errors = output.with_suffix(".err")
        files = (f"--output={output}", f"--error={errors}")
        sent = self.run("sbatch", "--parsable", *files, *words, env=env)
        assert sent.returncode == 0, sent.stderr
        job = sent.stdout.strip()

        def end() -> str:
            """Empty before it; `sbatch --wait` would look every few seconds."""
            shown = self.run("scontrol", "--oneliner", "show", "job", job).stdout
            fields = dict(word.split("=", 1) for word in shown.split() if "=" in word)
            running = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING")
            return "" if fields["JobState"] in running else fields["JobState"]

        state = await_true(end, f"the end of job {job}", timeout)
        assert state == "COMPLETED", (state, output.read_text(), errors.read_text())
        return output.read_text()

    def run(self, *argv, env=None, timeout=60) -> subprocess.CompletedProcess:
        return subprocess.run(
            [str(word) for word in argv],
            env={**self.env, **(env or {})},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def _start(self) -> None:
        self._write_files()
        munge = {
            "key-file": "munge.key",
            "socket": "munge.socket",
            "pid-file": "munged.pid",
            "log-file": "munged.log",
            "seed-file": "munged.seed",
        }
        flags = [f"--{name}={self.folder / file}" for name, file in munge.items()]
        self._daemons.start("munged", "munged", "--foreground", "--force", *flags)
        await_true((self.folder / "munge.socket").exists, "munged")
        self._daemons.start("slurmctld", "slurmctld", "-D")
        for node in self.nodes:
            self._daemons.start(f"slurmd-{node}", "slurmd", "-D", "-N", node)
        try:
            await_true(self._all_idle, "idle nodes")
        except TimeoutError as error:
            logs = [path.read_text() for path in sorted(self.folder.glob("*.log"))]
            raise RuntimeError("\n".join([str(error), *logs])) from None

    def _all_idle(self) -> bool:
        self._daemons.check()
        states = self.run("sinfo", "--noheader", "--Node", "--format=%t").stdout
        return states.split() == ["idle"] * len(self.nodes)

    def _write_files(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        (self.folder / "state").mkdir()
        ports = free_ports(1 + len(self.nodes))
        nodes = [
            _NODE.format(name=name, port=port)
            for name, port in zip(self.nodes, ports[1:], strict=True)
        ]
        text = _CONF.format(
            folder=self.folder,
            host=socket.gethostname(),
            user=getpass.getuser(),
            ports=ports,
            nodes="\n".join(nodes),
        )
        (self.folder / "slurm.conf").write_text(text)
        # Slurm wants a file for each GPU, and looks no further.
        for number in range(8):
            (self.folder / f"gpu{number}").touch()
        gpus = f"Name=gpu File={self.folder}/gpu[0-7]\n"
        (self.folder / "gres.conf").write_text(gpus)
