"""A read-only S3 server that answers late: the files of a folder as objects of a bucket, without a check of the keys.

    python bench support/far_store FOLDER MILLISECONDS

It prints its port, and answers each request after the milliseconds, as many at a time as come. Its own work is about a
fifth of a millisecond a request, so that the latency, and not the server, decides how long a run takes. Every line that
it reads sets the latency anew, and it prints how many requests of each method came since the line before.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import sys
from collections import Counter
from email.utils import formatdate
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

PAGE = 1000  # objects of a list
LIST = (
    '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
    "<Name>{bucket}</Name><Prefix>{prefix}</Prefix><KeyCount>{count}</KeyCount><MaxKeys>{page}</MaxKeys>"
    "<IsTruncated>{more}</IsTruncated>{rest}{objects}</ListBucketResult>"
)
OBJECT = (
    "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>{tag}</ETag>"
    "<Size>{size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
)


class Server:
    """The objects, and the latency of the answers in seconds."""

    def __init__(self, folder: Path, latency: float) -> None:
        self.latency, self.requests = latency, Counter[str]()
        self.objects = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))}
        self.tags = {key: f'"{hashlib.md5(content).hexdigest()}"' for key, content in self.objects.items()}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection."""
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                (method, target, _), *lines = (line.split(" ", 2) for line in head.split("\r\n"))
                span = next((line[1] for line in lines if line[0].lower() == "range:"), "")
                self.requests[method] += 1
                await asyncio.sleep(self.latency)
                writer.write(self.answer(method, target, span))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def answer(self, method: str, target: str, span: str) -> bytes:
        """Return the answer to a request."""
        place = urlsplit(target)
        bucket, _, key = unquote(place.path).lstrip("/").partition("/")
        if method == "GET" and not key:
            query = {name: values[0] for name, values in parse_qs(place.query).items()}
            return self.reply("200 OK", self.listed(bucket, query).encode(), ["Content-Type: application/xml"])
        if key not in self.objects:
            return self.reply("404 Not Found", b"")
        content, about = self.objects[key], [f"ETag: {self.tags[key]}", f"Last-Modified: {formatdate(usegmt=True)}"]
        about.append("Accept-Ranges: bytes")
        if method == "HEAD":
            return self.reply("200 OK", b"", about, len(content))
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", span)
        if found is None:
            return self.reply("200 OK", content, about)
        begin = int(found[1]) if found[1] else max(0, len(content) - int(found[2]))
        end = min(len(content), int(found[2]) + 1) if found[1] and found[2] else len(content)
        about.append(f"Content-Range: bytes {begin}-{end - 1}/{len(content)}")
        return self.reply("206 Partial Content", content[begin:end], about)

    def listed(self, bucket: str, query: dict[str, str]) -> str:
        """Return a page of the list of objects."""
        prefix, after = query.get("prefix", ""), query.get("continuation-token", "")
        keys = [key for key in self.objects if key.startswith(prefix) and key > after]
        page, more = keys[:PAGE], len(keys) > PAGE
        rest = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        about = (OBJECT.format(key=escape(key), tag=self.tags[key], size=len(self.objects[key])) for key in page)
        numbers = {"count": len(page), "page": PAGE, "more": str(more).lower()}
        return LIST.format(bucket=bucket, prefix=escape(prefix), rest=rest, objects="".join(about), **numbers)

    def reply(self, state: str, content: bytes, lines: list[str] | None = None, length: int | None = None) -> bytes:
        """Return an answer as it is sent."""
        size = f"Content-Length: {len(content) if length is None else length}"
        return "\r\n".join([f"HTTP/1.1 {state}", size, *(lines or []), "", ""]).encode() + content


async def serve(folder: Path, milliseconds: float) -> None:
    """Serve until the input ends."""
    server = Server(folder, milliseconds / 1e3)
    running = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    print(running.sockets[0].getsockname()[1], flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(dict(server.requests), flush=True)
        server.latency, server.requests = float(line) / 1e3, Counter()


def main() -> None:
    asyncio.run(serve(Path(sys.argv[1]), float(sys.argv[2])))
