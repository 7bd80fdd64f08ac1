// What the official suite asks of a server, on the server packages of the official TypeScript SDK:
//
//   node server.mjs [both|legacy|modern]
//
// The same tools as the fixture in Rust, but for the tasks extension. Here the SDK itself takes a question to a client
// of either era, so that the hub meets two ways of asking. The SDK is loaded from `$TOOLBAY_TEST_PEERS/npm`.

import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const load = createRequire(resolve(join(process.env.TOOLBAY_TEST_PEERS, "npm", "package.json")));
const sdk = load("@modelcontextprotocol/server");
const { serveStdio, StdioServerTransport } = load("@modelcontextprotocol/server/stdio");
const { inputRequired } = sdk;

const era = process.argv[2] ?? "both";
const codec = sdk.createRequestStateCodec({ key: new TextEncoder().encode("a key of thirty-two bytes or more") });
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGPQyp8OAAH3ATEdPoPNAAAAAElFTkSuQmCC";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

const text = (text) => ({ content: [{ type: "text", text }] });
const image = { type: "image", data: PNG, mimeType: "image/png" };
const embedded = (uri, mimeType, text) => ({ type: "resource", resource: { uri, mimeType, text } });
const object = (properties = {}, required = Object.keys(properties)) => ({ type: "object", properties, required });
const string = { type: "string" };

// Questions.
const form = (message, properties, required) =>
    inputRequired.elicit({ mode: "form", message, requestedSchema: object(properties, required) });
const model = (text) =>
    inputRequired.createMessage({ messages: [{ role: "user", content: { type: "text", text } }], maxTokens: 100 });
const named = () => form("What is your name?", { name: string });
const everything = () => ({ user_name: named(), greeting: model("Generate a greeting"), client_roots: inputRequired.listRoots() });
const CAPABILITIES = { user_name: "elicitation", greeting: "sampling", client_roots: "roots" };
const options = ["option1", "option2", "option3"];
const titled = (noun) => ["First", "Second", "Third"].map((nth, at) => ({ const: `value${at + 1}`, title: `${nth} ${noun}` }));

/** Answers once all questions of the last round are answered; until then asks. */
function asking(rounds, { sealed = false } = {}) {
    return async (args, ctx) => {
        const state = sealed ? ctx.mcpReq.requestState() : undefined;
        const at = state?.round ?? 0;
        const all = rounds.map((round) => round(args, ctx));
        const given = sealed && !state ? {} : (ctx.mcpReq.inputResponses ?? {});
        const answered = Object.keys(all[at]).every((key) => typeof given[key] === "object");
        const isRetry = !sealed || state;
        const next = isRetry && answered ? at + 1 : at;
        if (next === all.length) return text(`Answers: ${JSON.stringify(given)}; state-ok`);
        const requestState = sealed ? await codec.mint({ round: next }) : undefined;
        return inputRequired({ inputRequests: all[next], requestState });
    };
}

const able = (ctx) => ctx.mcpReq.envelope?.[sdk.CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities() ?? {};
const declared = (_, ctx) =>
    Object.fromEntries(Object.entries(everything()).filter(([key]) => able(ctx)[CAPABILITIES[key]]));

let changes = 0;
async function progress(_, ctx) {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
        const params = { progressToken, progress, total: 100 };
        if (progressToken !== undefined) await ctx.mcpReq.notify({ method: "notifications/progress", params });
        await sleep(50);
    }
    return text("It went on and on");
}
async function logging(_, ctx) {
    for (const line of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
        await ctx.mcpReq.log("info", line);
        await sleep(50);
    }
    return text("It was logged");
}
const change = (method) => async () => {
    changes += 1;
    await server[method]();
    return text("The change was made");
};

const one = (key, question) => asking([(args) => ({ [key]: question(args) })]);
const confirmed = asking([() => ({ confirm: form("Please confirm", { ok: { type: "boolean" } }) })], { sealed: true });

/** What each tool does, with its schema if it takes arguments. */
const tools = {
    test_simple_text: [() => text("This is a simple text response for testing.")],
    test_image_content: [() => ({ content: [image] })],
    test_audio_content: [() => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] })],
    test_embedded_resource: [() => ({ content: [embedded("test://embedded-resource", "text/plain", "Embedded")] })],
    test_multiple_content_types: [() => ({
        content: [...text("Several").content, image, embedded("test://mixed", "application/json", "{}")],
    })],
    test_error_handling: [() => ({ ...text("This tool intentionally returns an error for testing"), isError: true })],
    test_tool_with_logging: [logging],
    test_tool_with_progress: [progress],
    test_reconnection: [() => text("Reconnection test completed")],
    test_logging_tool: [async (_, ctx) => (await ctx.mcpReq.log("info", "A line"), text("Logged, if wanted"))],
    test_sampling: [one("completion", ({ prompt }) => model(prompt)), object({ prompt: string })],
    test_elicitation: [one("user", ({ message }) => form(message, { username: string, email: string })), object({ message: string })],
    test_streaming_elicitation: [one("value", () => form("Provide a value", { value: string }))],
    test_elicitation_sep1034_defaults: [one("values", () => form("Please check", {
        name: { ...string, default: "John Doe" },
        age: { type: "integer", default: 30 },
        score: { type: "number", default: 95.5 },
        status: { ...string, enum: ["active", "inactive", "pending"], default: "active" },
        verified: { type: "boolean", default: true },
    }, []))],
    test_elicitation_sep1330_enums: [one("choices", () => form("Please choose", {
        untitledSingle: { ...string, enum: options },
        titledSingle: { ...string, oneOf: titled("Option") },
        legacyEnum: { ...string, enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
        untitledMulti: { type: "array", items: { ...string, enum: options } },
        titledMulti: { type: "array", items: { anyOf: titled("Choice") } },
    }, []))],
    test_input_required_result_elicitation: [one("user_name", named)],
    test_input_required_result_sampling: [one("capital_question", () => model("What is the capital of France?"))],
    test_input_required_result_list_roots: [one("client_roots", () => inputRequired.listRoots())],
    test_input_required_result_request_state: [confirmed],
    test_input_required_result_tampered_state: [confirmed],
    test_input_required_result_multiple_inputs: [asking([everything], { sealed: true })],
    test_input_required_result_capabilities: [asking([declared])],
    test_input_required_result_multi_round: [asking([
        () => ({ step1: form("Step 1: What is your name?", { name: string }) }),
        () => ({ step2: form("Step 2: What is your favorite color?", { color: string }) }),
    ], { sealed: true })],
    test_missing_capability: [(_, ctx) => {
        if (able(ctx).sampling) return text("The client can sample");
        throw new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
    }],
    test_trigger_tool_change: [change("sendToolListChanged")],
    test_trigger_prompt_change: [change("sendPromptListChanged")],
    test_custom_header: [({ value }) => text(value), object({ value: { ...string, "x-mcp-header": "Value" } })],
    json_schema_2020_12_tool: [() => text("It fits"), {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        $defs: { address: { $anchor: "addressDef", ...object({ street: string, city: string }, []) } },
        type: "object",
        properties: {
            name: string, address: { $ref: "#/$defs/address" }, phone: string, email: string,
            contactMethod: { ...string, enum: ["phone", "email"] },
        },
        allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
        if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
        then: { required: ["phone"] },
        else: { required: ["email"] },
        additionalProperties: false,
    }],
};

const user = (...contents) => ({ messages: contents.map((content) => ({ role: "user", content })) });
const said = (text) => ({ type: "text", text });
const prompts = {
    test_simple_prompt: [() => user(said("This is a simple prompt for testing."))],
    test_prompt_with_arguments: [({ arg1, arg2 }) => user(said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)), "arg1", "arg2"],
    test_prompt_with_embedded_resource: [({ resourceUri }) => user(embedded(resourceUri, "text/plain", "Embedded"), said("Please process it.")), "resourceUri"],
    test_prompt_with_image: [() => user(image, said("Please analyze it."))],
    test_input_required_result_prompt: [(_, ctx) => {
        const answer = ctx.mcpReq.inputResponses?.user_context;
        if (answer) return user(said(`The context is ${answer.content?.context}`));
        return inputRequired({ inputRequests: { user_context: form("What context should the prompt use?", { context: string }) } });
    }],
};

const resources = {
    "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
    "test://static-binary": { mimeType: "image/png", blob: PNG },
    "test://watched-resource": { mimeType: "text/plain", text: "Watched" },
};

/** What is there under a name, or the error of the protocol. */
function found(all, name) {
    if (!Object.hasOwn(all, name)) throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, `Unknown: ${name}`);
    return all[name];
}

let server;
function create() {
    const capabilities = {
        completions: {}, logging: {}, prompts: { listChanged: true }, tools: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
    };
    server = new sdk.Server({ name: "typescript-fixture", version: "0" }, { capabilities, requestState: { verify: codec.verify } });
    const on = (method, handle) => server.setRequestHandler(method, handle);
    on("tools/list", () => ({
        tools: Object.entries(tools).map(([name, [, inputSchema = object()]]) => ({ name, description: `${name}, ${changes}`, inputSchema })),
    }));
    on("tools/call", ({ params }, ctx) => found(tools, params.name)[0](params.arguments ?? {}, ctx));
    on("prompts/list", () => ({
        prompts: Object.entries(prompts).map(([name, [, ...names]]) => ({
            name, description: `${name}, ${changes}`, arguments: names.map((name) => ({ name, required: true })),
        })),
    }));
    on("prompts/get", ({ params }, ctx) => found(prompts, params.name)[0](params.arguments ?? {}, ctx));
    on("resources/list", () => ({
        resources: Object.entries(resources).map(([uri, { mimeType }]) => ({ uri, name: uri, description: uri, mimeType })),
    }));
    on("resources/templates/list", () => ({
        resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "Data", mimeType: "application/json" }],
    }));
    on("resources/read", ({ params: { uri } }) => {
        const id = /^test:\/\/template\/(.*)\/data$/.exec(uri)?.[1];
        const made = id && { mimeType: "application/json", text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) };
        const content = resources[uri] ?? made;
        if (!content) throw new sdk.ResourceNotFoundError(uri);
        return { contents: [{ uri, ...content }] };
    });
    on("completion/complete", () => ({ completion: { values: ["paris", "park"], total: 2, hasMore: false } }));
    if (era !== "modern") {
        on("resources/subscribe", () => ({}));
        on("resources/unsubscribe", () => ({}));
    }
    return server;
}

if (era === "legacy") await create().connect(new StdioServerTransport());
else serveStdio(create, { legacy: era === "modern" ? "reject" : "serve" });
