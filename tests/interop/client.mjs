// The official TypeScript SDK as a client: connects, lists, runs calls, prints what came over the wire.
//
//   node client.mjs --sdk v2|v1 --revision legacy|modern|auto --calls FILE --http URL | --sse URL | --ws URL
//   node client.mjs --sdk v2|v1 --revision legacy|modern|auto --calls FILE [--env K=V]… [--cwd DIR] --stdio -- COMMAND ARGS…
//   either with --await NAME…: list until these tools and prompts are there
//
// The SDK makes every request through its public methods, so it checks each answer against its own schemas; what is
// printed are the messages as the transport delivered them, because the SDK's typed results may lack unknown fields.
// A document that the SDK refused carries `sdkError` beside the raw `result`.
// The SDKs are loaded from `$TOOLBAY_TEST_PEERS/npm`, where `cargo xtask peers` put them.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const { values: options, positionals } = parseArgs({
    allowPositionals: true,
    options: {
        sdk: { type: "string", default: "v2" },
        revision: { type: "string", default: "legacy" },
        calls: { type: "string" },
        http: { type: "string" },
        sse: { type: "string" },
        ws: { type: "string" },
        stdio: { type: "boolean", default: false },
        env: { type: "string", multiple: true, default: [] },
        cwd: { type: "string" },
        await: { type: "string", multiple: true, default: [] },
        timeout: { type: "string", default: "60000" },
    },
});
const urls = [options.http, options.sse, options.ws].filter((url) => url !== undefined);
if (urls.length + Number(options.stdio) !== 1) fail("give one of --http, --sse, --ws URL or --stdio -- COMMAND");
if (options.sdk === "v1" && options.revision !== "legacy") fail("the 1.x SDK speaks the legacy revisions only");
const timeout = Number(options.timeout);

const peers = process.env.TOOLBAY_TEST_PEERS ?? fail("TOOLBAY_TEST_PEERS is not set: run `cargo xtask peers`");
const load = createRequire(resolve(join(peers, "npm", "package.json")));

// The same answers in every driver, so that what a server makes of them can be compared.
const answers = {
    "elicitation/create": ({ params }) =>
        params.mode === "url"
            ? { action: "accept" }
            : { action: "accept", content: { name: "Ada Lovelace", check: true, integer: 36 } },
    "sampling/createMessage": () => ({
        role: "assistant",
        model: "interop-model",
        stopReason: "endTurn",
        content: { type: "text", text: "A fixed answer." },
    }),
};

const wire = tap(transport());
const client = options.sdk === "v1" ? clientV1() : clientV2();
await client.connect(wire.transport, { timeout });

const handshake = wire.last((sent) => sent === "initialize" || sent === "server/discover");
const version = handshake?.protocolVersion ?? client.getNegotiatedProtocolVersion?.();
const modern = client.getProtocolEra?.() === "modern";
if (options.revision !== "auto" && modern !== (options.revision === "modern")) {
    fail(`wanted the ${options.revision} revision, the connection speaks ${version}`);
}

const document = {
    client: options.sdk === "v1" ? "@modelcontextprotocol/sdk" : "@modelcontextprotocol/client",
    revision: modern ? "modern" : "legacy",
    protocolVersion: version,
    handshake,
    lists: await settled(lists),
    calls: [],
};
for (const call of options.calls ? JSON.parse(readFileSync(options.calls, "utf8")) : []) {
    document.calls.push(await run(call));
}
await client.close();
process.stdout.write(JSON.stringify(document, null, 1) + "\n", () => process.exit(0));

function transport() {
    if (options.http !== undefined) {
        const { StreamableHTTPClientTransport } = sdk("", "client/streamableHttp.js");
        return new StreamableHTTPClientTransport(new URL(options.http));
    }
    if (options.sse !== undefined) {
        const { SSEClientTransport } = sdk("", "client/sse.js");
        return new SSEClientTransport(new URL(options.sse));
    }
    if (options.ws !== undefined) {
        if (options.sdk !== "v1") fail("only the 1.x SDK has a WebSocket");
        const { WebSocketClientTransport } = sdk("", "client/websocket.js");
        return new WebSocketClientTransport(new URL(options.ws));
    }
    const { StdioClientTransport, getDefaultEnvironment } = sdk("/stdio", "client/stdio.js");
    const declared = Object.fromEntries(options.env.map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
    const [command, ...args] = positionals;
    const env = { ...getDefaultEnvironment(), ...declared };
    // A subclass, because the SDK probes its own class on a second process that it starts only for that.
    class Stdio extends StdioClientTransport {}
    return new Stdio({ command, args, env, cwd: options.cwd, stderr: "inherit" });
}

function sdk(v2, v1) {
    return options.sdk === "v1"
        ? load(`@modelcontextprotocol/sdk/${v1}`)
        : load(`@modelcontextprotocol/client${v2}`);
}

function identity() {
    // What a full client declares; the hub declares the same towards its servers.
    const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
    return [{ name: "toolbay-interop", version: "1.0.0" }, { capabilities }];
}

function clientV1() {
    const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
    const types = load("@modelcontextprotocol/sdk/types.js");
    const client = new Client(...identity());
    client.setRequestHandler(types.ElicitRequestSchema, answers["elicitation/create"]);
    client.setRequestHandler(types.CreateMessageRequestSchema, answers["sampling/createMessage"]);
    client.setRequestHandler(types.ListRootsRequestSchema, () => {
        throw new types.McpError(types.ErrorCode.MethodNotFound, "no roots");
    });
    return client;
}

function clientV2() {
    const { Client, ProtocolError, ProtocolErrorCode } = load("@modelcontextprotocol/client");
    // `auto` probes first, as clients in the field do; the revision is checked after the connect.
    const mode = options.revision === "legacy" ? "legacy" : "auto";
    const [info, declared] = identity();
    const client = new Client(info, { ...declared, versionNegotiation: { mode } });
    client.setRequestHandler("elicitation/create", answers["elicitation/create"]);
    client.setRequestHandler("sampling/createMessage", answers["sampling/createMessage"]);
    client.setRequestHandler("roots/list", () => {
        throw new ProtocolError(ProtocolErrorCode.MethodNotFound, "no roots");
    });
    return client;
}

// A hub answers lists before its servers are up. With `--await NAME…`, list until these names are there and two lists
// in a row are equal.
async function settled(list) {
    const until = Date.now() + timeout;
    let last = await list();
    while (options.await.length > 0) {
        if (Date.now() > until) fail(`these never were all listed: ${options.await.join(" ")}`);
        await new Promise((resolve) => setTimeout(resolve, 400));
        const next = await list();
        const names = Object.values(next).flatMap((items) => (Array.isArray(items) ? items.map((it) => it.name) : []));
        const there = options.await.every((name) => names.includes(name));
        if (there && JSON.stringify(next) === JSON.stringify(last)) break;
        last = next;
    }
    return last;
}

async function lists() {
    const offered = client.getServerCapabilities() ?? {};
    const all = async (when, key, by, page) => {
        if (!when) return undefined;
        const items = [];
        let cursor;
        do {
            const { result, error } = await exchange((o) => page(cursor === undefined ? {} : { cursor }, o));
            if (error !== undefined) return { error };
            items.push(...result[key]);
            cursor = result.nextCursor;
        } while (cursor !== undefined);
        return items.sort((a, b) => (a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : 0));
    };
    // `refresh`: an answer from the SDK's own cache would never touch the wire.
    const fresh = (o) => ({ ...o, cacheMode: "refresh" });
    return {
        tools: await all(offered.tools, "tools", "name", (p, o) => client.listTools(p, fresh(o))),
        resources: await all(offered.resources, "resources", "uri", (p, o) =>
            client.listResources(p, fresh(o)),
        ),
        resourceTemplates: await all(
            offered.resources,
            "resourceTemplates",
            "uriTemplate",
            (p, o) => client.listResourceTemplates(p, fresh(o)),
        ),
        prompts: await all(offered.prompts, "prompts", "name", (p, o) =>
            client.listPrompts(p, fresh(o)),
        ),
    };
}

async function run({ method, params, progress }) {
    const send = {
        "tools/call": (o) => (options.sdk === "v1" ? client.callTool(params, undefined, o) : client.callTool(params, o)),
        "resources/read": (o) => client.readResource(params, { ...o, cacheMode: "refresh" }),
        "prompts/get": (o) => client.getPrompt(params, o),
        "completion/complete": (o) => client.complete(params, o),
    }[method];
    if (send === undefined) fail(`no such call: ${method}`);
    return { method, params, ...(await exchange(send, progress)) };
}

// One request through the SDK, and what the wire showed meanwhile.
async function exchange(send, progress = false) {
    wire.begin();
    let sdkError;
    try {
        await send(progress ? { timeout, onprogress: () => {} } : { timeout });
    } catch (error) {
        sdkError = `${error.name}: ${error.message}`;
    }
    const seen = wire.end();
    const answered = seen.answer ?? {};
    // An error answer is an answer: only what the SDK itself refused is worth a word.
    if (sdkError !== undefined && answered.error === undefined) answered.sdkError = sdkError;
    if (progress) answered.progress = seen.progress;
    if (seen.questions.length > 0) answered.questions = seen.questions;
    return answered;
}

// Records what crosses a transport, without touching it.
function tap(transport) {
    const methods = new Map(); // request id → method
    const results = []; // { method, result }
    let seen = { progress: [], questions: [] };
    let deliver;
    Object.defineProperty(transport, "onmessage", {
        get: () => deliver,
        set: (handler) => {
            deliver = handler && ((message, extra) => (record(message), handler(message, extra)));
        },
    });
    const send = transport.send.bind(transport);
    transport.send = (message, ...rest) => {
        if (message.method !== undefined && message.id !== undefined) methods.set(message.id, message.method);
        return send(message, ...rest);
    };
    function record(received) {
        const message = structuredClone(received);
        if (message.method === "notifications/progress") seen.progress.push(message.params);
        else if (message.method !== undefined && message.id !== undefined) seen.questions.push(question(message));
        else if (methods.has(message.id)) {
            const { result, error } = message;
            // The rounds of an `input_required` call ask their questions inside the result.
            if (result?.resultType === "input_required") {
                for (const asked of Object.values(result.inputRequests ?? {})) seen.questions.push(question(asked));
            } else {
                seen.answer = error === undefined ? { result } : { error };
                results.push({ method: methods.get(message.id), result });
            }
        }
    }
    return {
        transport,
        begin: () => (seen = { progress: [], questions: [] }),
        end: () => seen,
        last: (wanted) => results.findLast(({ method, result }) => result && wanted(method))?.result,
    };
}

function question({ method, params }) {
    return { method, params };
}

function fail(message) {
    process.stderr.write(`client.mjs: ${message}\n`);
    process.exit(2);
}
