"""The machine: namespaces, shaped links, throttled disks. Runs as pid 1 of the outermost set of
namespaces (run starts it so): when it ends, every process, mount and link in here ends with it.

Each node has
  mgmt0        to the other nodes, not shaped: what the launchers say to each other, and PMIx
  stor0        to the source, shaped: HTTP alone
  eth0, eth1…  the rails of the fabric, each on its own bridge, shaped: MPI alone (and sbcast)
  DISK         ext4 on a loop device whose image is in memory, throttled; or a tmpfs, not throttled
Shaped is: tbf at both ends of the veth pair, so each direction has the rate of its own.
"""

import json
import os
import subprocess
import time

NAMESPACES = ["--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child=SIGKILL",
              "--mount-proc", "--propagation", "private"]
MTU_STORAGE = 1500
MTU_FABRIC = 9000  # headers take 0.7 %, about as on InfiniBand
HEADERS = {  # what Ethernet, IP and TCP headers take of a wire, as a share of the payload
    "source": (14 + 52) / (MTU_STORAGE - 52), "storage": (14 + 52) / (MTU_STORAGE - 52),
    "fabric": (14 + 52) / (MTU_FABRIC - 52)}
SOURCE = "10.91.0.254"
HUB = "10.92.0.254"  # on the first rail, for slurmctld

# pid 1 of a node. It waits for ever, since orphans come to it.
INIT = """
set -e
hostname "$NAME"
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mkdir -p /run/munge
[ ! -d "$WORK/munge" ] || mount --bind "$WORK/munge" /run/munge
ip link set lo up
if [ -n "$IMAGE" ]; then
  mount -o noatime,noinit_itable "$LOOP" "$WORK/disk"
else
  mount -t tmpfs -o mode=755,size=90% tmpfs "$WORK/disk"
fi
chmod 1777 "$WORK/disk"
[ -z "$SEEN" ] || mount --bind "$SEEN" "$WORK/seen"
touch "$WORK/ready/$NAME"
sleep infinity &
while :; do wait || :; done
"""


class BedError(Exception):
    pass


def run(command, text=None, **more):
    done = subprocess.run(command, input=text, text=True, capture_output=True, **more)
    if done.returncode != 0:
        raise BedError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def shaping(device, rate):
    """A tc line. The burst is 4 ms of the rate, but never less than one 64 KiB packet."""
    burst = max(70_000, int(rate * 1e6 / 8 * 0.004))
    return f"qdisc add dev {device} root tbf rate {rate:g}mbit burst {burst} latency 200ms\n"


class Space:
    """One set of namespaces, held by its pid 1."""

    def __init__(self, name, work, environment):
        self.name = name
        self.log = open(f"{work}/log/{name}.init", "wb")
        self.holder = subprocess.Popen(
            ["unshare", *NAMESPACES, "bash", "-c", INIT],
            env={"PATH": os.environ["PATH"], "NAME": name, "WORK": work, "IMAGE": "", "SEEN": "",
                 **environment},
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.pid = self._init()
        self.work = work

    def _init(self):
        path = f"/proc/{self.holder.pid}/task/{self.holder.pid}/children"
        for _ in range(500):
            with open(path) as file:
                children = file.read().split()
            if children:
                return int(children[0])
            time.sleep(0.01)
        raise BedError(f"{self.name}: no namespaces")

    def wait_ready(self):
        for _ in range(1000):
            if os.path.exists(f"{self.work}/ready/{self.name}"):
                return
            if self.holder.poll() is not None:
                break
            time.sleep(0.02)
        with open(self.log.name) as file:
            raise BedError(f"{self.name} did not come up: {file.read().strip()}")

    def enter(self, *command):
        """The command line that runs `command` inside."""
        return ["nsenter", "-t", str(self.pid), "-m", "-u", "-i", "-n", "-p", *command]

    def run(self, *command, text=None, **more):
        return run(self.enter(*command), text, **more)

    def in_network(self, *command, text=None):
        return run(["nsenter", "-t", str(self.pid), "-n", *command], text)


class Bed:
    def __init__(self, variant, nodes, work, wires, disk_bytes, seen=None):
        self.variant, self.count, self.work, self.wires = variant, nodes, work, wires
        self.rails = [f"eth{r}" for r in range(variant.rails)]
        for sub in ("log", "ready", "disk", "seen", "out"):
            os.makedirs(f"{work}/{sub}", exist_ok=True)
        os.chmod(f"{work}/out", 0o1777)
        self._hub()
        self.source = Space("source", work, {})
        self.source.wait_ready()
        self._link(self.source, "src", "stor0", "storage", f"{SOURCE}/16", variant.egress)
        self.nodes = [self._node(k, disk_bytes, seen) for k in range(nodes)]
        for node in self.nodes:
            node.wait_ready()
        for k in range(nodes):
            self._links(k)

    def scaled(self, rate):
        return None if rate is None else rate * self.wires

    def _hub(self):
        for path in ("bridge/bridge-nf-call-iptables", "bridge/bridge-nf-call-ip6tables"):
            if os.path.exists(f"/proc/sys/net/{path}"):
                with open(f"/proc/sys/net/{path}", "w") as file:
                    file.write("0")
        lines = "link set lo up\n"
        bridges = {"mgmt": 1500, "storage": MTU_STORAGE,
                   **{f"rail{r}": MTU_FABRIC for r in range(self.variant.rails)}}
        for name, mtu in bridges.items():
            lines += f"link add {name} type bridge\nlink set {name} mtu {mtu} up\n"
        lines += f"addr add {HUB}/16 dev rail0\n"
        run(["ip", "-batch", "-"], lines)

    def _rate(self, k, kind):
        from . import regimes
        return regimes.rate_of(self.variant, k, kind)

    def _node(self, k, disk_bytes, seen):
        environment = {}
        rate = self.scaled(self._rate(k, "disk"))
        if rate is not None:
            environment = {"IMAGE": "1", "LOOP": self._disk(k, rate, disk_bytes)}
        if seen and k == 0:
            environment["SEEN"] = seen
        node = Space(f"n{k + 1}", self.work, environment)
        node.wait_ready()
        if rate is not None:
            # In use, the kernel frees it with the last mount: nothing is left however this ends.
            run(["losetup", "-d", environment["LOOP"]])
        return node

    def _disk(self, k, rate, size):
        image = f"{self.work}/mem/n{k + 1}.img"
        with open(image, "wb") as file:
            file.truncate(size)
        run(["mkfs.ext4", "-q", "-F", "-m", "0", "-E",
             "nodiscard,lazy_itable_init=1,lazy_journal_init=1", image])
        loop = run(["losetup", "--find", "--show", "--direct-io=on", image]).strip()
        number = run(["lsblk", "-dno", "MAJ:MIN", loop]).strip()
        with open(f"{self.work}/throttled", "a") as file:  # for the clean-up, first
            file.write(number + "\n")
        # In the root group, so that the kernel's own write-back is throttled like O_DIRECT.
        set_throttle(number, int(rate * 1e6 / 8))
        return loop

    def _link(self, space, outside, inside, bridge, address, rate):
        mtu = MTU_FABRIC if bridge.startswith("rail") else MTU_STORAGE
        run(["ip", "-batch", "-"],
            f"link add {outside} mtu {mtu} type veth peer name {inside} mtu {mtu} netns {space.pid}\n"
            f"link set {outside} master {bridge}\nlink set {outside} up\n")
        space.in_network("ip", "-batch", "-",
                         text=f"addr add {address} dev {inside}\nlink set {inside} up\n")
        if rate is not None:
            run(["tc", "-batch", "-"], shaping(outside, self.scaled(rate)))
            space.in_network("tc", "-batch", "-", text=shaping(inside, self.scaled(rate)))

    def _links(self, k):
        node, host = self.nodes[k], k + 1
        self._link(node, f"m{host}", "mgmt0", "mgmt", f"10.90.0.{host}/16", None)
        self._link(node, f"s{host}", "stor0", "storage", f"10.91.0.{host}/16",
                   self._rate(k, "storage"))
        for r in range(self.variant.rails):
            self._link(node, f"f{host}r{r}", f"eth{r}", f"rail{r}", f"10.{92 + r}.0.{host}/16",
                       self._rate(k, "fabric"))

    def traffic(self):
        """Bytes on the wires so far: out of the source, and the most that one node got or sent."""
        links = {link["ifname"]: link["stats64"]
                 for link in json.loads(run(["ip", "-j", "-s", "link", "show"]))}
        per_node = [[sum(links[f"f{k + 1}r{r}"][way]["bytes"] for r in range(self.variant.rails))
                     for way in ("rx", "tx")] for k in range(self.count)]
        return {"source": links["src"]["rx"]["bytes"],
                "fabric_sent": [sent for sent, _ in per_node],
                "fabric_received": [received for _, received in per_node]}

    def trim(self):
        """Gives the images' deleted blocks back to the machine's memory."""
        for node in self.nodes:
            subprocess.run(node.enter("fstrim", f"{self.work}/disk"), capture_output=True)


def set_throttle(number, bytes_per_second):
    with open("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device", "w") as file:
        file.write(f"{number} {bytes_per_second}")
