#!/usr/bin/env python3
"""A TCP proxy before an object store, which can be told to misbehave while it runs.

broken_proxy.py PORT MODE-FILE [TARGET-PORT]     listens on every address of this host

The file holds one word, read again for every piece that passes; no file: pass.
  pass          everything goes through
  busy [P]      a request is answered 503 with probability P (default 1)
  reset         connections are reset in the middle of what they carry
  stall         nothing goes through, and nothing is closed
  refuse        new connections are closed at once, old ones too
"""

import asyncio
import pathlib
import random
import socket
import struct
import sys

BUSY = (b"HTTP/1.1 503 Server Busy\r\nContent-Length: 0\r\nRetry-After: 1\r\n"
        b"Connection: close\r\n\r\n")


class Proxy:
    def __init__(self, mode_file, target_port):
        self.mode_file = pathlib.Path(mode_file)
        self.target_port = target_port

    def mode(self):
        try:
            words = self.mode_file.read_text().split()
        except OSError:
            words = []
        return (words or ["pass"])[0], float(words[1]) if len(words) > 1 else 1.0

    async def serve(self, reader, writer):
        if self.mode()[0] == "refuse":
            return self.abort(writer)
        host = writer.get_extra_info("sockname")[0]
        try:
            to_reader, to_writer = await asyncio.open_connection(host, self.target_port)
        except OSError:
            return self.abort(writer)
        tasks = [asyncio.ensure_future(self.pump(reader, to_writer, writer, True)),
                 asyncio.ensure_future(self.pump(to_reader, writer, writer, False))]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        for end in (writer, to_writer):
            end.close()

    async def pump(self, reader, writer, client, requests):
        try:
            while data := await reader.read(1 << 16):
                while self.mode()[0] == "stall":
                    await asyncio.sleep(0.1)
                mode, probability = self.mode()
                if mode in ("reset", "refuse"):
                    return self.abort(client)
                if requests and mode == "busy" and random.random() < probability:
                    client.write(BUSY)
                    await client.drain()
                    return
                writer.write(data)
                await writer.drain()
        except OSError:
            pass

    @staticmethod
    def abort(writer):
        """A reset, not an end: the peer must not take what it has for the whole."""
        raw = writer.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()


async def main(port, mode_file, target_port):
    proxy = Proxy(mode_file, target_port)
    server = await asyncio.start_server(proxy.serve, None, port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2],
                     int(sys.argv[3]) if len(sys.argv) > 3 else 10000))
