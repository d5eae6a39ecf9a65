#!/usr/bin/env python3
"""stage-launch on 1 to 8 nodes in namespaces, with a small MPI program as the engine.

    launch_test.py BUILD_DIRECTORY [unittest arguments]
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import unittest

import bed

BIN = os.path.abspath(sys.argv[1])
LAUNCH = f"{BIN}/stage-launch"
ENGINE = f"{BIN}/stage-launch-fake-engine"
SECRET = "sig-0123456789abcdef"

# Wide limits for the things that must end at once: a test on a loaded machine measures nothing.
AT_ONCE = 15


def config_text(**changes):
    values = {"rendezvous_timeout_s": 30, "heartbeat_timeout_s": 5, "engine_start_timeout_s": 60,
              "stall_timeout_s": 20, "kill_wait_s": 1, "deadline_s": 120, "auth": "", "paths": "",
              "network": ""}
    values.update(changes)
    limits = "\n".join(f"{name} = {value}" for name, value in values.items() if name.endswith("_s"))
    return (f"[paths]\nengine = \"{ENGINE}\"\n{values['paths']}\n[limits]\n{limits}\n"
            f"[auth]\n{values['auth']}\n[network]\n{values['network']}\n[engine.environment]\n"
            "OMPI_MCA_pml = \"ob1\"\nOMPI_MCA_btl = \"tcp,self\"\n"
            "OMPI_MCA_mpi_yield_when_idle = \"1\"\n")


class Job:
    """One job: a launcher per node, each from an order file as the plugin writes it."""

    count = 1000

    def __init__(self, nodes, runs, munge=False, absent=(), tree=False, addresses=True,
                 key=None, credentials=(), root=None, prefix=(), deadline=0, **changes):
        Job.count += 1
        self.name = str(Job.count)
        self.directory = f"{TOP}/{self.name}"
        os.mkdir(self.directory, 0o755)
        self.size = nodes
        self.runs = runs
        self.processes = {}
        self.records = {}
        auth = f"munge_socket = \"{BED.munge_socket}\"" if munge else None
        for k in range(1, nodes + 1):
            if k in absent:
                continue
            node_auth = auth or f"key_file = \"{(key or {}).get(k, KEY)}\""
            self.start(k, config_text(auth=node_auth, **changes), tree, addresses, credentials,
                       root, prefix, deadline)

    def start(self, k, config, tree, addresses, credentials, root, prefix, deadline):
        place = f"{self.directory}/n{k}"
        os.makedirs(f"{place}/{self.name}", 0o700)
        os.chmod(place, 0o755)
        with open(f"{place}/config.toml", "w", encoding="utf-8") as out:
            out.write(config)
        user_root = f"{root}/{bed.USER}" if root else ""
        text = (f"format = 2\njob = \"{self.name}\"\nindex = {k - 1}\nuid = {bed.UID}\n"
                f"gid = {bed.GID}\nuser = \"{bed.USER}\"\nuser_root = \"{user_root}\"\n"
                f"root = \"{root or ''}\"\nrecord_dir = \"{place}/{self.name}\"\n"
                f"deadline_ms = {int(deadline * 1000)}\ncredentials = {list(credentials)!r}\n")
        for i in range(1, self.size + 1):
            text += f"\n[[nodes]]\nname = \"n{i}\"\n"
            if addresses:
                text += f"address = \"10.88.0.{i}\"\n"
        for run in self.runs:
            arguments = "[" + ", ".join(f"\"{argument}\"" for argument in run.split()) + "]"
            text += f"\n[[runs]]\nname = \"\"\ndirectory = \"\"\narguments = {arguments}\n"
        request = f"{place}/request"
        with open(request, "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o600)) as out:
            out.write(text)
        command = [LAUNCH, "--request", request, "--config", f"{place}/config.toml", "--verbose"]
        if tree:
            command += ["--star-limit", "1", "--fan-out", "2"]
        # Standard input closed, no PATH, no HOME: what a Slurm prolog finds.
        self.records[k] = f"{place}/{self.name}/record"
        with open(f"{place}/out", "wb") as out:
            self.processes[k] = BED.start(k, ["env", "-i", *prefix, *command], stdout=out,
                                          stderr=subprocess.STDOUT)

    def output(self, k):
        with open(f"{self.directory}/n{k}/out", encoding="utf-8") as text:
            return text.read()

    def engine_log(self, k):
        with open(f"{self.directory}/n{k}/{self.name}/engine.log", encoding="utf-8") as text:
            return text.read()

    def wait_for(self, text, limit=60, nodes=None):
        """Until every node's launcher has said `text`."""
        for k in nodes or self.processes:
            deadline = time.monotonic() + limit
            while text not in self.output(k):
                if time.monotonic() > deadline or self.processes[k].poll() is not None:
                    raise AssertionError(f"n{k} never said {text!r}:\n{self.everything()}")
                time.sleep(0.02)

    def wait(self, limit=90):
        deadline = time.monotonic() + limit
        for k, process in self.processes.items():
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise AssertionError(f"n{k} still runs after {limit} s:\n{self.everything()}") from None

    def engine_pid(self, k):
        pid = bed.child_of(self.processes[k].inner)
        assert pid, self.everything()
        return pid

    def record(self, k):
        with open(self.records[k], "rb") as record:
            return tomllib.load(record)

    def outcome(self, k):
        record = self.record(k)
        return (self.processes[k].returncode, record["state"], record.get("node", ""),
                record.get("reason", ""))

    def everything(self):
        return "\n".join(f"--- n{k}\n{self.output(k)}" for k in self.processes)

    def stop(self):
        for process in self.processes.values():
            if process.poll() is None:
                bed.kill(process.inner)
                process.wait()


class LaunchCase(unittest.TestCase):
    def job(self, *args, **kwargs):
        job = Job(*args, **kwargs)
        self.addCleanup(job.stop)
        return job

    def assert_staged(self, job):
        job.wait()
        for k, process in job.processes.items():
            self.assertEqual(process.returncode, 0, job.everything())
            self.assertEqual(job.record(k)["state"], "staged")

    def assert_failed(self, job, code, node, reason, but=()):
        """All nodes end with one outcome."""
        job.wait()
        outcomes = {k: job.outcome(k) for k in job.processes if k not in but}
        for k, outcome in outcomes.items():
            self.assertEqual(outcome[0], code, f"n{k}\n{job.everything()}")
            self.assertEqual(outcome[1], "failed", f"n{k}\n{job.everything()}")
            self.assertEqual(outcome[2], node, f"n{k}\n{job.everything()}")
            self.assertRegex(outcome[3], reason, f"n{k}\n{job.everything()}")
            last = job.output(k).strip().splitlines()[-1]
            self.assertEqual(last, "stage-launch: " + (f"{node}: " if node else "") + outcome[3])
        self.assertEqual(len(set(outcomes.values())), 1, job.everything())

    def assert_nothing_left(self, job):
        """No engine survives its launcher."""
        found = subprocess.run(["pgrep", "-f", ENGINE], capture_output=True, text=True, check=False)
        self.assertEqual(found.stdout.split(), [], job.everything())


class Ok(LaunchCase):
    def test_every_size_with_both_proofs(self):
        for munge in (False, True):
            for nodes in (1, 2, 4, 8):
                with self.subTest(nodes=nodes, munge=munge):
                    job = self.job(nodes, ["hello 100000"], munge=munge)
                    self.assert_staged(job)
                    self.assertIn("broadcast of 100000 bytes verified", job.engine_log(1))
                    if nodes == 4:
                        times = re.findall(r"\[([0-9.]+) s\] MPI_Init is done", job.everything())
                        print(f"launcher start to MPI_Init done, 4 nodes, "
                              f"{'munge' if munge else 'key file'}: {max(map(float, times)):.2f} s")

    def test_a_tree_of_launchers(self):
        job = self.job(8, ["hello 100000", "hello 10"], tree=True)
        self.assert_staged(job)

    def test_two_runs_one_after_the_other(self):
        job = self.job(4, ["hello 1000", "hello 2000"])
        self.assert_staged(job)
        self.assertIn("broadcast of 1000 bytes", job.engine_log(1))
        self.assertIn("broadcast of 2000 bytes", job.engine_log(1))
        self.assertEqual(len(job.record(2)["models"]), 2)

    def test_without_full_modex(self):
        # MPI then asks single ranks (direct modex), also through the tree.
        job = self.job(4, ["hello 1000"], tree=True,
                       prefix=["PMIX_MCA_pmix_base_collect_data=0"])
        self.assert_staged(job)

    def test_addresses_from_the_configuration(self):
        table = "[network.addresses]\n" + "\n".join(f"n{k} = \"10.88.0.{k}\"" for k in (1, 2))
        job = self.job(2, ["hello 1000"], addresses=False, network=table)
        self.assert_staged(job)

    def test_port_in_use(self):
        # What holds the job's port on n1 is another program, which answers with nonsense.
        job_number = Job.count + 1
        port = 24600 + job_number % 256
        squatter = BED.start(1, [sys.executable, "-c", (
            "import socket\ns=socket.socket();s.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1)\n"
            f"s.bind(('0.0.0.0',{port}));s.listen(50);print('up',flush=True)\n"
            "while True:\n c,_=s.accept();c.sendall(b'HTTP/1.0 400 what\\r\\n\\r\\n');c.close()\n")],
            stdout=subprocess.PIPE)
        self.addCleanup(lambda: (bed.kill(squatter.inner), squatter.wait()))
        squatter.stdout.readline()
        self.assert_staged(self.job(3, ["hello 1000"]))

    def test_two_jobs_on_the_same_port(self):
        first = self.job(3, ["work"])
        first.wait_for("MPI_Init is done")
        Job.count += 255  # the next job has the same first port
        self.assert_staged(self.job(3, ["hello 1000"]))
        bed.kill(first.processes[1].inner, signal.SIGTERM)
        self.assert_failed(first, 8, "", "^cancelled$")

    def test_a_late_node(self):
        job = self.job(3, ["hello 1000"], absent=(1,))
        time.sleep(2)
        job.start(1, config_text(auth=f"key_file = \"{KEY}\""), False, True, (), None, (), 0)
        self.assert_staged(job)


class Failures(LaunchCase):
    def test_node_that_never_comes(self):
        for tree in (False, True):
            with self.subTest(tree=tree):
                job = self.job(4, ["hello 10"], absent=(3,), tree=tree, rendezvous_timeout_s=3)
                self.assert_failed(job, 8, "", r"no launcher came within 3 s from n3$")

    def test_index_0_never_comes(self):
        job = self.job(3, ["hello 10"], absent=(1,), rendezvous_timeout_s=3)
        job.wait()
        for k in (2, 3):
            self.assertEqual(job.outcome(k)[:3], (8, "failed", f"n{k}"))
            self.assertRegex(job.outcome(k)[3],
                             "cannot reach the launcher on node n1 within 3 s: at 10.88.0.1")

    def test_engine_killed(self):
        for tree in (False, True):
            with self.subTest(tree=tree):
                job = self.job(4, ["work"], tree=tree)
                job.wait_for("MPI_Init is done")
                bed.kill(job.engine_pid(3))
                start = time.monotonic()
                self.assert_failed(job, 8, "n3", r"killed by signal 9 \(Killed\)")
                self.assertLess(time.monotonic() - start, AT_ONCE)
                self.assert_nothing_left(job)

    def test_launcher_killed(self):
        for tree in (False, True):
            for victim in (1, 2, 4):
                with self.subTest(victim=victim, tree=tree):
                    job = self.job(4, ["work"], tree=tree)
                    job.wait_for("MPI_Init is done")
                    bed.kill(job.processes[victim].inner)
                    start = time.monotonic()
                    self.assert_failed(job, 8, f"n{victim}", "the launcher is gone", but=(victim,))
                    self.assertLess(time.monotonic() - start, AT_ONCE)
                    self.assert_nothing_left(job)

    def test_cable_cut(self):
        job = self.job(4, ["work"], heartbeat_timeout_s=2)
        job.wait_for("MPI_Init is done")
        BED.cut(2)
        try:
            self.assert_failed(job, 8, "n2", "the launcher is gone .silent for 2 s.", but=(2,))
        finally:
            BED.mend(2)
        self.assertEqual(job.outcome(2)[:3], (8, "failed", "n1"))
        self.assert_nothing_left(job)

    def test_engine_stopped(self):
        job = self.job(3, ["work"], stall_timeout_s=5)
        job.wait_for("MPI_Init is done")
        bed.kill(job.engine_pid(2), signal.SIGSTOP)
        self.assert_failed(job, 8, "n2", "has said nothing for 5 s")
        self.assert_nothing_left(job)

    def test_engine_without_a_word(self):
        job = self.job(3, ["silent"], stall_timeout_s=5)
        self.assert_failed(job, 8, "n3", "has said nothing for 5 s")

    def test_engine_that_never_starts(self):
        job = self.job(2, ["sleep"], engine_start_timeout_s=3)
        job.wait()
        for k in (1, 2):
            self.assertEqual(job.outcome(k)[:2], (8, "failed"))
            self.assertIn("MPI_Init within 3 s", job.outcome(k)[3])
        self.assertEqual(job.outcome(1), job.outcome(2))

    def test_abort(self):
        self.assert_failed(self.job(4, ["abort"]), 6, "n4", "MPI_Abort with status 9")

    def test_exit_status(self):
        job = self.job(2, ["exit 7"])
        job.wait()
        self.assertEqual(job.outcome(1), job.outcome(2))
        self.assertIn("ended with status 7", job.outcome(1)[3])
        self.assertEqual(job.outcome(1)[0], 7)

    def test_exit_without_finalize(self):
        self.assert_failed(self.job(4, ["nofinalize"]), 6, "n4", "without MPI_Finalize")

    def test_exit_without_staged(self):
        job = self.job(2, ["notstaged"])
        job.wait()
        self.assertEqual(job.outcome(1), job.outcome(2))
        self.assertIn("before it had staged", job.outcome(1)[3])

    def test_engines_own_reason_travels(self):
        for tree in (False, True):
            with self.subTest(tree=tree):
                self.assert_failed(self.job(4, ["reason"], tree=tree), 4, "n4",
                                   "^disk full: 3 GiB wanted, 1 GiB free$")

    def test_second_run_fails(self):
        self.assert_failed(self.job(3, ["hello 10", "reason", "hello 20"]), 4, "n3", "^disk full")

    def test_deadline(self):
        self.assert_failed(self.job(3, ["work"], deadline=4), 8, "", "deadline of 4 s")

    def test_sigterm_cancels_all(self):
        for victim in (1, 3):
            with self.subTest(victim=victim):
                job = self.job(4, ["work"], tree=True)
                job.wait_for("MPI_Init is done")
                bed.kill(job.processes[victim].inner, signal.SIGTERM)
                self.assert_failed(job, 8, "", "^cancelled$")
                self.assert_nothing_left(job)

    def test_cancel_during_the_rendezvous(self):
        job = self.job(3, ["work"], absent=(3,))
        job.wait_for("PMIx server is up")
        bed.kill(job.processes[1].inner, signal.SIGTERM)
        start = time.monotonic()
        self.assert_failed(job, 8, "", "^cancelled$")
        self.assertLess(time.monotonic() - start, AT_ONCE)

    def test_engine_that_cannot_be_run(self):
        job = self.job(2, ["hello 10"], paths="")
        job.stop()
        bad = f"{TOP}/not-a-program-{job.name}"
        with open(bad, "w", encoding="utf-8") as out:
            out.write("#!/no/such/interpreter\n")
        os.chmod(bad, 0o755)
        Job.count += 1
        process = BED.start(1, [LAUNCH, "--no-config", "--key-file", KEY, "--job", "bad", "--index",
                                "0", "--nodes", "n1", "--engine", bad, "--", "x"],
                            stderr=subprocess.PIPE, text=True)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 8)
        self.assertIn(f"could not be started: {bad}: No such file or directory", err)

    def test_record_directory_removed(self):
        job = self.job(2, ["work"])
        job.wait_for("MPI_Init is done")
        gone = os.path.dirname(job.records[2])
        shutil.rmtree(gone)
        bed.kill(job.engine_pid(1))
        job.wait()
        self.assertEqual({p.returncode for p in job.processes.values()}, {8}, job.everything())
        self.assertFalse(os.path.exists(gone))


class Safety(LaunchCase):
    def test_wrong_key(self):
        other = f"{TOP}/other-key"
        with open(other, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as key:
            key.write("another key than the others have")
        job = self.job(3, ["hello 10"], key={2: other}, rendezvous_timeout_s=3)
        self.assert_failed(job, 8, "", "no launcher came within 3 s from n2 .the other launcher has "
                           "a different key file", but=(2,))
        self.assertEqual(job.outcome(2)[0], 8)
        self.assertIn("refused this one's credential", job.outcome(2)[3])

    def test_key_file_that_others_can_read(self):
        loose = f"{TOP}/loose-key"
        with open(loose, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o644)) as key:
            key.write("everybody may read this key")
        os.chmod(loose, 0o644)
        job = self.job(1, ["hello 10"], key={1: loose})
        self.assert_failed(job, 2, "n1", "chmod 600")

    def test_garbage_on_the_port(self):
        job = self.job(3, ["hello 1000"], absent=(3,))
        port = 24600 + int(job.name) % 256
        job.wait_for("PMIx server is up")
        held = []
        frame = b"SML1\x01\0\0\0"
        for payload in (b"GET / HTTP/1.0\r\n\r\n", os.urandom(100000), b"", frame + b"\xff" * 4,
                        frame + b"\0\0\0\x08" + b"A" * 8, b"SML1", b"SML1\x03\0\0\0\0\0\x0f\xff"):
            for _ in range(30):
                one = socket.create_connection(("10.88.0.1", port), timeout=5)
                try:
                    one.sendall(payload)
                except OSError:
                    pass  # sent away already
                held.append(one)
        job.start(3, config_text(auth=f"key_file = \"{KEY}\""), False, True, (), None, (), 0)
        self.assert_staged(job)
        for one in held:
            one.close()

    def test_what_the_engine_is_given(self):
        out = f"{TOP}/dump"
        os.mkdir(out)
        os.chmod(out, 0o777)
        root = f"{TOP}/root"
        os.mkdir(root, 0o755)
        job = self.job(2, [f"dump {out}", "work"], credentials=[f"AZURE_STORAGE_SAS_TOKEN={SECRET}"],
                       root=root, prefix=["SLURM_JOB_ID=7", "SLURM_NODELIST=n1", "LD_PRELOAD="],
                       network="[policy]\npartial_keep_s = \"1h\"")
        job.wait_for("engine of run 1 started")
        # Both programs are there: what others can read of them holds no secret.
        for k in (1, 2):
            for pid in (job.processes[k].inner, job.engine_pid(k)):
                for name in ("environ", "cmdline"):
                    with open(f"/proc/{pid}/{name}", "rb") as shown:
                        self.assertNotIn(SECRET.encode(), shown.read())
            launcher = os.stat(f"/proc/{job.processes[k].inner}/mem")
            self.assertEqual(launcher.st_uid, 0)
        bed.kill(job.processes[1].inner, signal.SIGTERM)
        job.wait()
        for k in (1, 2):
            with open(f"{out}/n{k}.txt", encoding="utf-8") as dumped:
                text = dumped.read()
            lines = text.splitlines()
            self.assertIn(f"uid {bed.UID} {bed.UID} gid {bed.GID}", lines)
            self.assertEqual({f"{bed.GID}", f"{bed.EXTRA_GID}"},
                             set(next(l for l in lines if l.startswith("groups")).split()[1:]))
            for expected in ("option --partial-keep=3600s", "core 0", "umask 18", "session own", "nnp 1",
                             f"credentials AZURE_STORAGE_SAS_TOKEN={SECRET} ", "fd 0 /dev/null",
                             f"env STAGE_MODEL_NODE=n{k}", "env STAGE_MODEL_NODES=2",
                             f"env STAGE_MODEL_ADDRESS=10.88.0.{k}", "env HOME=/tmp",
                             f"env USER={bed.USER}", "env OMPI_MCA_schizo=^orte,slurm",
                             "env PMIX_MCA_gds=hash"):
                self.assertIn(expected, lines, text)
            self.assertFalse([l for l in lines if l.startswith("env ") and
                              ("SLURM" in l or "LD_PRELOAD" in l or SECRET in l)])
            # Standard ones and the status pipe; the credentials' is closed; two files are the test's.
            targets = [line.split()[2] for line in lines if line.startswith("fd ")]
            own = [f"{out}/n{k}.txt", "/dev/null"]
            others = [t for t in targets if t not in own and not t.endswith("/status")]
            self.assertEqual([t.split(":")[0] for t in others], ["pipe"] * 3, text)
            self.assertNotIn(SECRET, job.output(k))
            self.assertNotIn(SECRET, open(job.records[k], encoding="utf-8").read())
        made = os.stat(f"{root}/{bed.USER}")
        self.assertEqual((made.st_uid, made.st_gid, made.st_mode & 0o7777),
                         (bed.UID, bed.GID, 0o700))
        self.assertEqual(os.listdir(root), [bed.USER])

    def test_memlock_of_slurmd(self):
        out = f"{TOP}/memlock"
        os.mkdir(out)
        os.chmod(out, 0o777)
        job = self.job(1, [f"dump {out}"], prefix=["prlimit", "--memlock=65536:65536"])
        self.assert_staged(job)
        with open(f"{out}/n1.txt", encoding="utf-8") as dumped:
            raised = "memlock unlimited" in dumped.read()
        # A root without CAP_SYS_RESOURCE (some containers) may not raise it: then it is said.
        allowed = subprocess.run(["prlimit", "--memlock=unlimited:unlimited", "true"],
                                 stderr=subprocess.DEVNULL, check=False).returncode == 0
        self.assertEqual(raised, allowed)
        if not allowed:
            self.assertIn("limited to 64 KiB and cannot be raised", job.engine_log(1))
            self.assertIn("LimitMEMLOCK=infinity", job.engine_log(1))

    def test_user_directory_of_another(self):
        root = f"{TOP}/taken"
        os.makedirs(f"{root}/{bed.USER}")
        job = self.job(2, ["hello 10"], root=root)
        job.wait()
        self.assertEqual(job.outcome(1), job.outcome(2))
        self.assertEqual(job.outcome(1)[0], 4)
        self.assertIn("belongs to uid 0", job.outcome(1)[3])
        self.assertEqual(os.stat(f"{root}/{bed.USER}").st_uid, 0)

    def test_session_directory_is_gone(self):
        job = self.job(1, ["hello 10"])
        self.assert_staged(job)
        listing = BED.start(1, ["ls", "/run/stage-model-session"], stdout=subprocess.PIPE, text=True)
        # Killed launchers of other tests may have left theirs.
        self.assertNotIn(f"{job.name}.0", listing.communicate()[0])


class ByHand(LaunchCase):
    """Without Slurm, munge and root: what a Kubernetes indexed Job does."""

    def start(self, k, arguments, environment=(), prefix=()):
        return BED.start(k, ["env", "-i", "PATH=/usr/bin:/bin", "OMPI_MCA_pml=ob1",
                             "OMPI_MCA_btl=tcp,self", *environment, *prefix, LAUNCH, "--no-config",
                             *arguments],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_as_an_ordinary_user(self):
        key = f"{TOP}/users-key"
        with open(key, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as out:
            out.write("a key that the user alone can read\n")
        os.chown(key, bed.UID, bed.GID)
        names = f"{TOP}/nodes"
        with open(names, "w", encoding="ascii") as out:
            out.write("# all of them\nn1=10.88.0.1\nn2=10.88.0.2\n")
        processes = [self.start(k, ["--job", "by-hand", "--nodes-file", names, "--key-file", key,
                                    "--credential-env", "TOKEN", "--engine", ENGINE, "--", "hello",
                                    "500"],
                                [f"JOB_COMPLETION_INDEX={k - 1}", f"TOKEN={SECRET}"],
                                ["setpriv", f"--reuid={bed.UID}", f"--regid={bed.GID}",
                                 "--clear-groups"]) for k in (1, 2)]
        results = [process.communicate(timeout=60) for process in processes]
        self.assertEqual([p.returncode for p in processes], [0, 0], results)
        self.assertEqual(results[0][0], "broadcast of 500 bytes verified\n")
        self.assertEqual(results[1][0], "")

    def test_host_name_gives_the_index(self):
        processes = [self.start(k, ["--job", "names", "--nodes", "n1=10.88.0.1,n2=10.88.0.2",
                                    "--key-file", KEY, "--engine", ENGINE, "--", "hello", "500"])
                     for k in (2, 1)]
        results = [process.communicate(timeout=60) for process in processes]
        self.assertEqual([p.returncode for p in processes], [0, 0], results)

    def test_usage(self):
        for arguments, message in ((["--nodes", "n1", "--", "x"], "--job NAME is needed"),
                                   (["--job", "a", "--index", "0", "--", "x"], "no nodes"),
                                   (["--job", "a", "--nodes", "n1,n1", "--", "x"], "there twice"),
                                   (["--job", "a", "--nodes", "x1,x2", "--", "x"], "host n1 is not"),
                                   (["--job", "a", "--nodes", "n1"], "arguments after --"),
                                   (["--nonsense"], "--help")):
            process = self.start(1, arguments)
            _, err = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 2, err)
            self.assertIn(message, err)
            self.assertEqual(len(err.splitlines()), 1, err)

    def test_check(self):
        root = f"{TOP}/check-root"
        os.mkdir(root, 0o755)
        config = f"{TOP}/check.toml"
        with open(config, "w", encoding="utf-8") as out:
            out.write(config_text(auth=f"munge_socket = \"{BED.munge_socket}\"",
                                  paths=f"roots = [\"{root}\"]",
                                  network="[network.addresses]\nn1 = \"10.88.0.1\""))
        check = [LAUNCH, "--check", "--config", config]
        process = BED.start(1, ["env", "-i", *check], stdout=subprocess.PIPE, text=True)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, out)
        for line in (r"^ok   munge: round trip$", rf"^ok   root {root}: .* free",
                     r"^ok   name n1: 10.88.0.1$", r"^ok   engine: .*: fake engine$",
                     r"^ok   PMIx: built with "):
            self.assertRegex(out, re.compile(line, re.MULTILINE))
        os.rmdir(root)
        process = BED.start(1, ["env", "-i", *check], stdout=subprocess.PIPE, text=True)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 2, out)
        self.assertRegex(out, re.compile(rf"^FAIL root {root}: .*create it", re.MULTILINE))


if __name__ == "__main__":
    bed.enter_outer()
    TOP = tempfile.mkdtemp(prefix="stage-launch.", dir="/tmp")
    os.chmod(TOP, 0o755)
    KEY = f"{TOP}/key"
    with open(KEY, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as key_file:
        key_file.write("0123456789abcdef0123456789abcdef\n")
    status = 1
    try:
        BED = bed.Bed(8, TOP)
        program = unittest.main(argv=[sys.argv[0], *sys.argv[2:]], exit=False,
                                warnings="ignore")  # pipes that end with the namespaces
        status = 0 if program.result.wasSuccessful() else 1
    finally:
        shutil.rmtree(TOP, ignore_errors=True)
    sys.exit(status)
