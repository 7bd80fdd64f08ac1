"""A protected server in Python, which accepts the tokens of an issuer.

    python server.py sdk|fastmcp ISSUER

Prints its URL as soon as it listens, and ends with its stdin. Its tools: `whoami` says who calls, with which scopes; `write_note` needs the scope
`notes:write`, too.
"""

import json
import os
import socket
import sys
import threading
import urllib.request

import anyio.to_thread
import jwt
import uvicorn
from pydantic import AnyHttpUrl, TypeAdapter, UrlConstraints
from typing_extensions import Annotated


def python_sdk(issuer, keys, url):
    from mcp.server.auth.middleware.auth_context import get_access_token
    from mcp.server.auth.provider import AccessToken, TokenVerifier
    from mcp.server.auth.settings import AuthSettings
    from mcp.server.mcpserver import MCPServer

    class Verifier(TokenVerifier):
        def __init__(self):
            # Keys that are not known are looked up at once: issuers rotate them.
            self.keys = jwt.PyJWKClient(keys, cooldown_duration=0)

        async def verify_token(self, token):
            return await anyio.to_thread.run_sync(self.verify, token)

        def verify(self, token):
            try:
                key = self.keys.get_signing_key_from_jwt(token)
                claims = jwt.decode(token, key, algorithms=["RS256"], audience=url, issuer=issuer)
            except jwt.PyJWTError:
                return None
            return AccessToken(
                token=token, client_id=claims["client_id"], scopes=claims["scope"].split(), expires_at=claims["exp"],
                resource=claims["aud"], subject=claims["sub"], claims=claims,
            )

    auth = AuthSettings(
        issuer_url=issuer, resource_server_url=url, required_scopes=["notes:read"], validate_token_resource=True
    )
    verifier = Verifier()
    server = MCPServer("notes", auth=auth, token_verifier=verifier)
    return server, server.streamable_http_app(), verifier, get_access_token


def fastmcp(issuer, keys, url):
    from fastmcp import FastMCP
    from fastmcp.server.auth import RemoteAuthProvider
    from fastmcp.server.auth.providers.jwt import JWTVerifier
    from fastmcp.server.dependencies import get_access_token

    # Keys that are not known are looked up at once: issuers rotate them.
    verifier = JWTVerifier(
        jwks_uri=keys, issuer=issuer, audience=url, required_scopes=["notes:read"], jwks_refresh_interval=0
    )
    # An issuer is compared byte by byte; a plain `AnyHttpUrl` adds a slash.
    unchanged = TypeAdapter(Annotated[AnyHttpUrl, UrlConstraints(preserve_empty_path=True)])
    issuers = [unchanged.validate_python(issuer)]
    server = FastMCP("notes", auth=RemoteAuthProvider(verifier, issuers, url.removesuffix("/mcp")))
    return server, server.http_app(path="/mcp"), verifier, get_access_token


def add_tools(server, get_access_token):
    @server.tool()
    def whoami() -> str:
        token = get_access_token()
        return f"{token.claims['sub']}: {' '.join(sorted(token.scopes))}"

    @server.tool()
    def write_note() -> str:
        return "written"


class ScopeGuard:
    """Refuses calls of `write_note` with a token that lacks the scope, as the specification says; neither framework does."""

    def __init__(self, app, verifier, metadata):
        self.app, self.verifier, self.metadata = app, verifier, metadata

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self.app(scope, receive, send)
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message.get("more_body"):
                break
        if b'"write_note"' in body:
            headers = dict(scope["headers"])
            token = await self.verifier.verify_token(headers.get(b"authorization", b"").decode().removeprefix("Bearer "))
            if token and "notes:write" not in token.scopes:
                return await self.refuse(send)
        bodies = [{"type": "http.request", "body": body}]

        async def replay():
            return bodies.pop() if bodies else await receive()

        await self.app(scope, replay, send)

    async def refuse(self, send):
        challenge = f'Bearer error="insufficient_scope", scope="notes:read notes:write", resource_metadata="{self.metadata}"'
        headers = [(b"www-authenticate", challenge.encode()), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 403, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def end_with_stdin():
    sys.stdin.buffer.read()
    os._exit(0)


def main(framework, issuer):
    listener = socket.create_server(("127.0.0.1", 0))
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with urllib.request.urlopen(f"{issuer}/.well-known/openid-configuration") as response:
        keys = json.load(response)["jwks_uri"]
    make = {"sdk": python_sdk, "fastmcp": fastmcp}[framework]
    server, app, verifier, get_access_token = make(issuer, keys, f"{origin}/mcp")
    add_tools(server, get_access_token)
    guarded = ScopeGuard(app, verifier, f"{origin}/.well-known/oauth-protected-resource/mcp")
    threading.Thread(target=end_with_stdin, daemon=True).start()
    print(f"{origin}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(guarded, log_level="warning")).run([listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
