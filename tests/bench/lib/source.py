"""The store: nginx, which answers ranges and If-Match, and a file that answers List Blobs."""

import os
import subprocess
import time

from . import bed as bed_module
from . import model

ACCOUNT = "bench"
CONTAINER = "models"
PREFIX = "model/"
URL = f"az://{ACCOUNT}/{CONTAINER}/{PREFIX}"
ENDPOINT = f"http://{bed_module.SOURCE}/{ACCOUNT}"
PLAIN = f"http://{bed_module.SOURCE}/{ACCOUNT}/{CONTAINER}/{PREFIX}"

CONFIGURATION = """
user root;
worker_processes 1;
daemon off;
pid {home}/pid;
error_log {home}/error.log;
events {{ worker_connections 8192; }}
http {{
  access_log off;
  default_type application/octet-stream;
  client_body_temp_path {home}/t1; proxy_temp_path {home}/t2; fastcgi_temp_path {home}/t3;
  uwsgi_temp_path {home}/t4; scgi_temp_path {home}/t5;
  sendfile on;
  sendfile_max_chunk 256k;
  tcp_nodelay on;
  keepalive_requests 1000000;
  keepalive_timeout 600;
  open_file_cache max=10000 inactive=600s;
  server {{
    listen {address}:80 backlog=4096;
    root {root};
    autoindex on;
    location = /{account}/{container} {{
      if ($arg_comp = list) {{ rewrite ^ /list.xml last; }}
    }}
    location = /list.xml {{ default_type application/xml; }}
  }}
}}
"""


def prepare(work, sizes):
    """The files, and the list. Returns (directory, names)."""
    directory = f"{work}/mem/source/{ACCOUNT}/{CONTAINER}/{PREFIX.rstrip('/')}"
    os.makedirs(directory)
    names = model.make(directory, sizes)
    with open(f"{work}/mem/source/list.xml", "w") as file:
        file.write(model.azure_list(directory, names, PREFIX))
    return directory, names


def start(bed):
    home = f"{bed.work}/nginx"
    os.makedirs(home, exist_ok=True)
    with open(f"{home}/conf", "w") as file:
        file.write(CONFIGURATION.format(home=home, address=bed_module.SOURCE, account=ACCOUNT,
                                        container=CONTAINER, root=f"{bed.work}/mem/source"))
    with open(f"{home}/out", "wb") as log:
        server = subprocess.Popen(bed.source.enter("nginx", "-e", f"{home}/error.log", "-c", f"{home}/conf"),
                                  stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    for _ in range(100):
        answer = subprocess.run(
            bed.nodes[0].enter("curl", "-sf", "-o", "/dev/null", f"{ENDPOINT}/{CONTAINER}?comp=list"))
        if answer.returncode == 0:
            return server
        if server.poll() is not None:
            break
        time.sleep(0.05)
    with open(f"{home}/out") as file:
        raise bed_module.BedError(f"nginx did not start: {file.read().strip()}")
