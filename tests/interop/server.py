"""The official Python SDK as a server at a URL.

    python server.py sse PORT    HTTP+SSE of 2024-11-05, as the SDK serves it
    python server.py ws PORT     WebSocket, by the library `websockets`
"""

import sys

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.stdio import stdio_server
from websockets.asyncio.server import serve

server = MCPServer("python")


@server.tool()
def echo(text: str) -> str:
    return text


@server.tool()
def blow_up(times: int) -> str:
    return "ä" * times


@server.tool()
async def steps(count: int, ctx: Context) -> str:
    for step in range(count):
        await ctx.report_progress(step + 1, count)
    return f"{count} steps"


class Lines:
    """What a WebSocket carries, as the lines that the SDK reads and writes."""

    def __init__(self, socket):
        self.socket = socket

    async def __aiter__(self):
        async for text in self.socket:
            yield text

    async def write(self, line):
        await self.socket.send(line.rstrip("\n"))

    async def flush(self):
        pass


async def connection(socket):
    assert socket.subprotocol == "mcp", socket.subprotocol
    lines = Lines(socket)
    async with stdio_server(stdin=lines, stdout=lines) as (read, write):
        inner = server._lowlevel_server
        await inner.run(read, write, inner.create_initialization_options())


async def main(port):
    async with serve(connection, "127.0.0.1", port, subprotocols=["mcp"], max_size=1 << 24):
        await anyio.sleep_forever()


if __name__ == "__main__":
    speaks, port = sys.argv[1], int(sys.argv[2])
    if speaks == "ws":
        anyio.run(main, port)
    else:
        server.run("sse", port=port)
