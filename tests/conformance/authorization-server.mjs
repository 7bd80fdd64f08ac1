// The suite's scenarios of authorization servers, against the authorization proxy of a hub:
//
//   node authorization-server.mjs SUITE HUB BROWSER RESULTS
//
// Registers a client at the hub, runs the suite with it, and opens the URL that the suite prints in a browser (the URL of
// `tests/authorization/browser.mjs`), where a person consents and logs in. Exits as the suite does.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

const [suite, hub, browser, results] = process.argv.slice(2);

/** A port that is free now. The suite has no option for any port. */
async function freePort() {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address();
    await new Promise((closed) => server.close(closed));
    return port;
}

const port = await freePort();
const metadata = await (await fetch(`${hub}/.well-known/oauth-authorization-server`)).json();
const registration = await fetch(metadata.registration_endpoint, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "Conformance suite", redirect_uris: [`http://127.0.0.1:${port}/callback`] }),
});
const { client_id } = await registration.json();

const options = ["authorization", "--url", hub, "--client-id", client_id, "--port", port, "--output-dir", results];
const run = spawn(process.execPath, [suite, ...options], { stdio: ["ignore", "pipe", "inherit"] });
let said = "";
let isOpened = false;
run.stdout.on("data", (chunk) => {
    process.stdout.write(chunk);
    said += chunk;
    const url = said.match(/^(http\S+\/oauth\/authorize\?\S+)\n/m);
    if (!url || isOpened) return;
    isOpened = true;
    fetch(`${browser}/ada/open`, { method: "POST", body: url[1] });
});
run.on("exit", (code) => process.exit(code ?? 1));
