// A client on the official TypeScript SDK that authorizes by itself:
//
//   node client.mjs URL BROWSER TOOL...
//
// Connects, sends the user to the browser (the URL of a user of `browser.mjs`) where it is asked to, and calls tools one after the other.
// Prints the names of all tools and the text of each result. Packages are loaded from `$TOOLBAY_TEST_PEERS/npm`.

import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [url, browser, ...calls] = process.argv.slice(2);
const load = createRequire(resolve(join(process.env.TOOLBAY_TEST_PEERS, "npm", "package.json")));
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = load("@modelcontextprotocol/client");

const callback = createServer();
callback.listen(0, "127.0.0.1");
await once(callback, "listening");
const redirectUrl = `http://127.0.0.1:${callback.address().port}/callback`;

/** What the SDK wants to have kept, in memory. */
const kept = {};
const provider = {
    redirectUrl,
    clientMetadata: {
        client_name: "TypeScript SDK",
        redirect_uris: [redirectUrl],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
        application_type: "native",
    },
    state: () => "any",
    clientInformation: () => kept.client,
    saveClientInformation: (client) => (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => (kept.tokens = tokens),
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: (verifier) => (kept.verifier = verifier),
    saveDiscoveryState: (state) => (kept.discovery = state),
    discoveryState: () => kept.discovery,
    redirectToAuthorization(target) {
        kept.response = once(callback, "request");
        return fetch(`${browser}/open`, { method: "POST", body: target.href });
    },
};

let transport;
async function connect() {
    const client = new Client({ name: "typescript-sdk", version: "0" });
    transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
    await client.connect(transport);
    return client;
}

/** Does something, and once more after a login if that is what it takes. */
async function authorized(work) {
    try {
        return await work();
    } catch (error) {
        if (!(error instanceof UnauthorizedError)) throw error;
    }
    const [request, response] = await kept.response;
    response.setHeader("content-type", "text/html").end("<title>Done</title>You can close this page.");
    await transport.finishAuth(new URL(request.url, redirectUrl).searchParams);
    return await work();
}

const client = await authorized(connect);
const { tools } = await client.listTools();
const texts = [];
for (const name of calls) {
    const result = await authorized(() => client.callTool({ name, arguments: {} }));
    texts.push(result.content[0].text);
}
const output = { tools: tools.map(({ name }) => name).toSorted(), texts };
process.stdout.write(JSON.stringify(output) + "\n", () => process.exit(0));
