#!/usr/bin/env python3
"""examples/kubernetes against the published schemas, and against itself and the programs.

MPIJob's schema is in no package: its own fields are held against the list below, written down from
mpi-operator 0.8.2, and its pod templates against Kubernetes' schema.
"""

import os
import re
import subprocess
import sys
import unittest

import kubernetes_validate
import yaml

TOP = os.path.abspath(f"{os.path.dirname(__file__)}/../../..")
EXAMPLES = f"{TOP}/examples/kubernetes"
# The oldest release where indexed Jobs are stable and label their pods with batch.kubernetes.io/.
VERSIONS = ("1.27", "1.37")
MANIFESTS = ("indexed-job", "mpijob", "network-policy", "serving")

TEMPLATE = "template"
REPLICA = {"replicas": int, "restartPolicy": {"Never", "OnFailure"}, "template": TEMPLATE}
MPI_JOB = {
    "apiVersion": {"kubeflow.org/v2beta1"}, "kind": {"MPIJob"}, "metadata": dict,
    "spec": {
        "launcherCreationPolicy": {"AtStartup", "WaitForWorkersReady"},
        "mpiImplementation": {"OpenMPI", "Intel", "MPICH"},
        "mpiReplicaSpecs": {"Launcher": REPLICA, "Worker": REPLICA},
        "runLauncherAsWorker": bool,
        "runPolicy": {"activeDeadlineSeconds": int, "backoffLimit": int,
                      "cleanPodPolicy": {"None", "Running", "All"}, "managedBy": str,
                      "schedulingPolicy": dict, "suspend": bool, "ttlSecondsAfterFinished": int},
        "slotsPerWorker": int, "sshAuthMountPath": str}}


def documents(name):
    with open(f"{EXAMPLES}/{name}.yaml", encoding="utf-8") as text:
        return list(yaml.safe_load_all(text))


def of_kind(name, kind):
    found = [document for document in documents(name) if document["kind"] == kind]
    assert len(found) == 1, (name, kind)
    return found[0]


def mpi_problems(value, schema, at="MPIJob"):
    if schema == TEMPLATE:
        template = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"},
                    "template": value}
        for version in VERSIONS:
            try:
                kubernetes_validate.validate(template, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                return [f"{at}: {error.message}"]
        return []
    if isinstance(schema, set):
        return [] if value in schema else [f"{at}: {value}"]
    if isinstance(schema, type):
        return [] if isinstance(value, schema) else [f"{at}: {value!r} is no {schema.__name__}"]
    problems = []
    for key, inner in value.items():
        if key not in schema:
            problems.append(f"{at}: no field {key}")
        else:
            problems += mpi_problems(inner, schema[key], f"{at}.{key}")
    return problems


def pod_specs():
    for name in MANIFESTS:
        for document in documents(name):
            spec = document.get("spec", {})
            if document["kind"] == "MPIJob":
                for role, replica in spec["mpiReplicaSpecs"].items():
                    yield f"{name} {role}", replica["template"]["spec"]
            elif "template" in spec:
                yield name, spec["template"]["spec"]


class Schemas(unittest.TestCase):
    def test_every_manifest(self):
        for name in MANIFESTS:
            for document in documents(name):
                for version in VERSIONS:
                    with self.subTest(name=name, kind=document["kind"], version=version):
                        if document["kind"] == "MPIJob":
                            self.assertEqual(mpi_problems(document, MPI_JOB), [])
                        else:
                            kubernetes_validate.validate(document, version, strict=True)

    def test_the_validators_can_fail(self):
        job = of_kind("indexed-job", "Job")
        job["spec"]["template"]["spec"]["initContainer"] = []
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(job, VERSIONS[-1], strict=True)
        mpi = of_kind("mpijob", "MPIJob")
        worker = mpi["spec"]["mpiReplicaSpecs"]["Worker"]
        worker["template"]["spec"]["containers"][0]["imagee"] = "x"
        mpi["spec"]["runPolicy"]["cleanPodPolicy"] = "Sometimes"
        mpi["spec"]["sshMountPath"] = "/x"
        self.assertEqual(len(mpi_problems(mpi, MPI_JOB)), 3)


class Sense(unittest.TestCase):
    """What no schema sees."""

    def test_the_pods_can_find_each_other(self):
        service = of_kind("indexed-job", "Service")
        job = of_kind("indexed-job", "Job")
        pod = job["spec"]["template"]["spec"]
        name = job["metadata"]["name"]
        self.assertEqual(service["spec"]["clusterIP"], "None")
        self.assertTrue(service["spec"]["publishNotReadyAddresses"])
        self.assertEqual(service["spec"]["selector"], {"batch.kubernetes.io/job-name": name})
        self.assertEqual(pod["subdomain"], service["metadata"]["name"])
        size = job["spec"]["completions"]
        self.assertEqual(job["spec"]["parallelism"], size)
        self.assertGreaterEqual(job["spec"]["backoffLimit"], 2 * size)
        variables = {entry["name"]: entry["value"] for entry in pod["initContainers"][0]["env"]}
        names = [f"{name}-{index}.{pod['subdomain']}" for index in range(size)]
        self.assertEqual(variables["STAGE_LAUNCH_NODES"].split(","), names)

    def test_the_policy_opens_the_default_ports(self):
        with open(f"{TOP}/etc/stage_model.toml", encoding="utf-8") as text:
            defaults = re.findall(r'_ports = "(\d+)-(\d+)"', text.read())
        policy = of_kind("network-policy", "NetworkPolicy")["spec"]
        ports = [(str(rule["port"]), str(rule["endPort"])) for rule in policy["ingress"][0]["ports"]]
        self.assertEqual(ports, defaults)

    def test_volumes_exist_and_nobody_asks_for_rights(self):
        for name, spec in pod_specs():
            volumes = {volume["name"] for volume in spec.get("volumes", ())}
            self.assertTrue(spec["securityContext"]["runAsNonRoot"], name)
            for container in spec.get("initContainers", []) + spec["containers"]:
                mounted = {mount["name"] for mount in container.get("volumeMounts", ())}
                self.assertLessEqual(mounted, volumes, name)
                if container["image"].startswith("stage-model"):
                    self.assertTrue(spec["shareProcessNamespace"])
                    own = container["securityContext"]
                    self.assertFalse(own["allowPrivilegeEscalation"])
                    self.assertTrue(own["readOnlyRootFilesystem"])
                    self.assertEqual(own["capabilities"], {"drop": ["ALL"]})

    def test_the_identity_is_wired_up(self):
        for name in ("indexed-job", "mpijob", "serving"):
            account = of_kind(name, "ServiceAccount")["metadata"]
            self.assertIn("azure.workload.identity/client-id", account["annotations"])
            for document in documents(name):
                templates = [document["spec"]["template"]] if "template" in document.get("spec", {}) \
                    else [replica["template"] for replica in
                          document.get("spec", {}).get("mpiReplicaSpecs", {}).values()]
                for template in templates:
                    self.assertEqual(template["spec"]["serviceAccountName"], account["name"])
                    self.assertEqual(template["metadata"]["labels"]["azure.workload.identity/use"],
                                     "true")

    def test_shell_of_the_mpijob(self):
        launcher = of_kind("mpijob", "MPIJob")["spec"]["mpiReplicaSpecs"]["Launcher"]
        script = launcher["template"]["spec"]["containers"][0]["args"][0]
        subprocess.run(["bash", "-n", "-c", script], check=True)


class Image(unittest.TestCase):
    def test_lint(self):
        subprocess.run([f"{os.path.dirname(sys.executable)}/hadolint", f"{EXAMPLES}/Dockerfile"],
                       check=True)

    def test_it_installs_what_the_build_needs(self):
        with open(f"{EXAMPLES}/Dockerfile", encoding="utf-8") as text:
            install = re.search(r"install -y[^&]*", text.read()).group(0).split()
        with open(f"{TOP}/tests/support/packages.sh", encoding="utf-8") as text:
            build = re.search(r"^build=\(([^)]*)\)", text.read(), re.MULTILINE).group(1).split()
        self.assertLessEqual(set(build), set(install))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
