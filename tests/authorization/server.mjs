// A protected server on the official TypeScript SDK, which accepts the tokens of an issuer:
//
//   node server.mjs ISSUER
//
// Prints its URL as soon as it listens, and ends with its stdin. Its tools: `whoami` says who calls, with which scopes; `write_note` needs the scope
// `notes:write`, too. Packages are loaded from `$TOOLBAY_TEST_PEERS/npm`.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const load = createRequire(resolve(join(process.env.TOOLBAY_TEST_PEERS, "npm", "package.json")));
const sdk = load("@modelcontextprotocol/server");
const { toNodeHandler } = load("@modelcontextprotocol/node");
const { createRemoteJWKSet, jwtVerify } = load("jose");

const issuer = process.argv[2];
const server = createServer((request, response) => handle(request, response));
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);

const oauthMetadata = await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json();
const metadata = { oauthMetadata, resourceServerUrl: url, scopesSupported: ["notes:read"], resourceName: "Notes" };
// Keys that are not known are looked up at once: issuers rotate them.
const keys = createRemoteJWKSet(new URL(oauthMetadata.jwks_uri), { cooldownDuration: 0 });
const verifier = {
    async verifyAccessToken(token) {
        try {
            const { payload } = await jwtVerify(token, keys, { issuer, audience: url.href, typ: "at+jwt" });
            const { client_id: clientId, scope, exp: expiresAt, aud, sub } = payload;
            return { token, clientId, scopes: scope.split(" "), expiresAt, resource: new URL(aud), extra: { sub } };
        } catch (error) {
            throw new sdk.OAuthError(sdk.OAuthErrorCode.InvalidToken, error.message);
        }
    },
};
const gate = sdk.requireBearerAuth({
    verifier,
    requiredScopes: ["notes:read"],
    resourceMetadataUrl: sdk.getOAuthProtectedResourceMetadataUrl(url),
    expectedResource: url,
});

const text = (text) => ({ content: [{ type: "text", text }] });
const notes = sdk.createMcpHandler(() => {
    const notes = new sdk.McpServer({ name: "notes", version: "0" });
    notes.registerTool("whoami", { description: "Says who calls." }, (ctx) => {
        const { extra, scopes } = ctx.http.authInfo;
        return text(`${extra.sub}: ${scopes.toSorted().join(" ")}`);
    });
    const scopeChallenge = sdk.requireScopes("notes:write");
    notes.registerTool("write_note", { description: "Writes a note.", scopeChallenge }, () => text("written"));
    return notes;
});

const handle = toNodeHandler({
    async fetch(request) {
        const document = sdk.oauthMetadataResponse(request, metadata);
        if (document) return document;
        const authInfo = await gate(request);
        return authInfo instanceof Response ? authInfo : notes.fetch(request, { authInfo });
    },
});
console.log(url.href);
process.stdin.on("end", () => process.exit()).resume();
