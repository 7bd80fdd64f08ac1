"""A client in Python that authorizes by itself.

    python client.py sdk|fastmcp URL BROWSER TOOL...

Connects, sends the user to the browser (the URL of a user of `browser.mjs`) where it is asked to, and calls tools one after the other.
Prints the names of all tools and the text of each result. FastMCP opens browsers itself, by the variable `BROWSER`.
"""

import asyncio
import json
import sys
import urllib.request
import warnings
from urllib.parse import parse_qs, urlsplit

# Of deprecated revisions and tokens in memory: both are meant.
warnings.simplefilter("ignore")


class Memory:
    """What the SDK wants to have kept."""

    tokens = client_info = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client_info

    async def set_client_info(self, client_info):
        self.client_info = client_info


async def python_sdk(url, browser, calls):
    import httpx2
    from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.auth import OAuthClientMetadata

    answers = asyncio.Queue(maxsize=1)

    async def callback(reader, writer):
        target = (await reader.readline()).split()[1].decode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<title>Done</title>")
        await writer.drain()
        writer.close()
        if target.startswith("/callback"):
            await answers.put(parse_qs(urlsplit(target).query))

    async def open_browser(target):
        request = urllib.request.Request(f"{browser}/open", data=target.encode())
        await asyncio.to_thread(urllib.request.urlopen, request)

    async def wait_for_answer():
        answer = await answers.get()
        value = lambda name: answer.get(name, [None])[0]
        return AuthorizationCodeResult(code=value("code"), state=value("state"), iss=value("iss"))

    listener = await asyncio.start_server(callback, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    metadata = OAuthClientMetadata(
        client_name="Python SDK", redirect_uris=[f"http://127.0.0.1:{port}/callback"],
        grant_types=["authorization_code", "refresh_token"], token_endpoint_auth_method="none",
    )
    auth = OAuthClientProvider(url, metadata, Memory(), open_browser, wait_for_answer)
    async with httpx2.AsyncClient(auth=auth, follow_redirects=True) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            tools = (await client.list_tools()).tools
            return tools, [(await client.call_tool(name, {})).content[0].text for name in calls]


async def fastmcp(url, browser, calls):
    from fastmcp import Client

    async with Client(url, auth="oauth") as client:
        tools = await client.list_tools()
        return tools, [(await client.call_tool(name, {})).content[0].text for name in calls]


def main(library, url, browser, *calls):
    tools, texts = asyncio.run({"sdk": python_sdk, "fastmcp": fastmcp}[library](url, browser, calls))
    print(json.dumps({"tools": sorted(tool.name for tool in tools), "texts": texts}))


if __name__ == "__main__":
    main(*sys.argv[1:])
