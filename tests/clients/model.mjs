// A model that can do one thing: it calls the tool that adds, with 1 and 2, and then says what came back. Where that tool is not listed but
// one that searches for tools, it searches first, and then calls what it has found: the tool itself if that is listed now, otherwise through
// the tool that the answer names.
//
// `GET /requests` answers with what it was asked since the last time: how many tools of the hub (those with "hub" in their names) each request
// listed, and how many bytes their definitions had.
//
// It speaks the APIs that coding agents use (Anthropic messages, OpenAI responses and chat completions, Gemini
// generateContent), so that a whole agent can be tried without an account. Prints its port.

import { createServer } from "node:http";

const WANTED = /get[-_]sum$/;
const ARGUMENTS = { a: 1, b: 2 };
const QUERY = { query: "add two numbers and return the sum" };
const SUM = "The sum of 1 and 2";

/** What it was asked. */
const requests = [];

const apis = [
    [/\/messages(\?|$)/, anthropic],
    [/\/responses(\?|$)/, openaiResponses],
    [/\/chat\/completions(\?|$)/, openaiChat],
    [/:(streamG|g)enerateContent/, gemini],
];

const server = createServer(async (request, response) => {
    if (request.url === "/requests") return json(response, requests.splice(0));
    let text = "";
    for await (const chunk of request) text += chunk;
    const api = apis.find(([path]) => path.test(request.url))?.[1];
    if (api === undefined || text === "") {
        response.writeHead(api === undefined ? 404 : 200, { "content-type": "application/json" });
        return response.end("{}");
    }
    api(JSON.parse(text), request.url, response);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));

/** What to do next: call the tool, after a search where it is not listed, then say what came back. */
function turn(tools, results) {
    const find = (pattern) => tools.find((name) => pattern.test(name));
    // Some clients hand on the text of a result, others its structured content.
    const answers = [/^(\S+)\(.*\[(call_tool\w*)\]/m, /"name":"([^"]+)".*?"call_with":"(call_tool\w*)"/];
    const found = results.flatMap((text) => answers.map((answer) => answer.exec(text))).find((match) => match !== null);
    const [search, through] = [find(/search_tools$/), found && find(new RegExp(`${found[2]}$`))];
    if (results.length > 0 && (!found || results.at(-1).includes(SUM) || results.length > 1)) return { say: `the tool said: ${results.at(-1)}` };
    if (find(WANTED)) return { call: find(WANTED), input: ARGUMENTS };
    if (through) return { call: through, input: { name: found[1], arguments: ARGUMENTS } };
    return search && !found ? { call: search, input: QUERY } : { say: `no tool adds; there are ${tools.length}` };
}

/** Remembers which tools of the hub a request lists; `tools` are names with definitions. */
function record(tools) {
    const ours = tools.filter(([name]) => /hub/.test(name));
    const bytes = ours.reduce((sum, [, definition]) => sum + Buffer.byteLength(JSON.stringify(definition)), 0);
    requests.push({ tools: ours.length, bytes, names: ours.map(([name]) => name) });
}

function anthropic(body, _url, response) {
    const blocks = body.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    const results = blocks.filter(({ type }) => type === "tool_result").map(({ content }) => text(content));
    const listed = (body.tools ?? []).filter((tool) => !tool.defer_loading);
    record(listed.map((tool) => [tool.name, tool]));
    const { call, input, say } = turn(listed.map(({ name }) => name), results);
    const block = call ? { type: "tool_use", id: `toolu_${results.length}`, name: call, input } : { type: "text", text: say };
    const stop_reason = call ? "tool_use" : "end_turn";
    const message = { id: "msg_1", type: "message", role: "assistant", model: body.model, content: [block], stop_reason, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } };
    if (!body.stream) return json(response, message);
    const delta = call ? { type: "input_json_delta", partial_json: JSON.stringify(input) } : { type: "text_delta", text: say };
    const started = call ? { ...block, input: {} } : { type: "text", text: "" };
    events(response, [
        { type: "message_start", message: { ...message, content: [], stop_reason: null } },
        { type: "content_block_start", index: 0, content_block: started },
        { type: "content_block_delta", index: 0, delta },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } },
        { type: "message_stop" },
    ]);
}

function openaiResponses(body, _url, response) {
    const results = (body.input ?? []).filter(({ type }) => type === "function_call_output").map(({ output }) => text(output));
    // A server's tools may come grouped in a namespace.
    const named = (body.tools ?? []).flatMap((tool) => tool.tools?.map((inner) => ({ ...inner, namespace: tool.name })) ?? [tool]);
    record(named.map((tool) => [`${tool.namespace ?? ""} ${tool.name}`, tool]));
    const { call, input, say } = turn(named.map(({ name }) => name ?? ""), results);
    const namespace = named.find(({ name }) => name === call)?.namespace;
    const item = call
        ? { type: "function_call", id: `fc_${results.length}`, call_id: `call_${results.length}`, name: call, ...(namespace && { namespace }), arguments: JSON.stringify(input), status: "completed" }
        : { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{ type: "output_text", text: say, annotations: [] }] };
    const usage = { input_tokens: 1, input_tokens_details: { cached_tokens: 0 }, output_tokens: 1, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 2 };
    const whole = { id: "resp_1", object: "response", status: "completed", model: body.model, output: [item], usage };
    if (!body.stream) return json(response, whole);
    events(response, [
        { type: "response.created", response: { ...whole, status: "in_progress", output: [] } },
        { type: "response.output_item.added", output_index: 0, item },
        { type: "response.output_item.done", output_index: 0, item },
        { type: "response.completed", response: whole },
    ]);
}

function openaiChat(body, _url, response) {
    const results = body.messages.filter(({ role }) => role === "tool").map(({ content }) => text(content));
    record((body.tools ?? []).map((tool) => [tool.function.name, tool]));
    const { call, input, say } = turn((body.tools ?? []).map((tool) => tool.function.name), results);
    const called = [{ index: 0, id: `call_${results.length}`, type: "function", function: { name: call, arguments: JSON.stringify(input) } }];
    const message = call ? { role: "assistant", content: null, tool_calls: called } : { role: "assistant", content: say };
    const base = { id: "chat_1", created: 1, model: body.model };
    const finish_reason = call ? "tool_calls" : "stop";
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    if (!body.stream) return json(response, { ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage });
    const chunk = (delta, reason) => ({ ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: reason }] });
    events(response, [chunk(message, null), { ...chunk({}, finish_reason), usage }], "[DONE]");
}

function gemini(body, url, response) {
    const parts = body.contents.flatMap(({ parts }) => parts ?? []);
    const results = parts.filter((part) => part.functionResponse).map((part) => JSON.stringify(part.functionResponse.response));
    const tools = (body.tools ?? []).flatMap(({ functionDeclarations }) => functionDeclarations ?? []);
    record(tools.map((tool) => [tool.name, tool]));
    const { call, input, say } = turn(tools.map(({ name }) => name), results);
    const part = call ? { functionCall: { name: call, args: input } } : { text: say };
    const candidate = { content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 };
    const whole = { candidates: [candidate], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 } };
    url.includes(":streamGenerateContent") ? events(response, [whole]) : json(response, whole);
}

function text(content) {
    if (typeof content === "string") return content;
    return (content ?? []).map((part) => part.text ?? "").join(" ");
}

function json(response, body) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
}

function events(response, bodies, last) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const body of bodies) response.write(`${body.type ? `event: ${body.type}\n` : ""}data: ${JSON.stringify(body)}\n\n`);
    response.end(last ? `data: ${last}\n\n` : "");
}
