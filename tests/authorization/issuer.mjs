// A certified authorization server, `oidc-provider`, with its own pages for login and consent:
//
//   node issuer.mjs
//
// Prints its issuer as soon as it listens, and ends with its stdin. It issues tokens for every resource on loopback, as JWTs, with the scopes
// `notes:read` and `notes:write`; clients register by themselves, refresh tokens are rotated, PKCE is required.
// Tests steer it below `/control`, where everything is answered with JSON:
//
//   POST settings        { lifetime, format }: seconds that new access tokens live, and `jwt` or `opaque`
//   POST rotate-keys     signs with a new key; the old one is not published any more
//   POST revoke          revokes every grant, and with them all refresh tokens
//   POST forget-clients  drops all registrations
//   GET  counts          what was asked for so far: registrations, authorizations, codes, refreshes, refusals
//
// `resource-server` with the secret `introspect` may introspect tokens; `hub` is a hub on 127.0.0.1 at whose proxy people log in.
// Packages are loaded from `$TOOLBAY_TEST_PEERS/npm`.

import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { json } from "node:stream/consumers";
import { join, resolve } from "node:path";

const load = createRequire(resolve(join(process.env.TOOLBAY_TEST_PEERS, "npm", "package.json")));
const { Provider, errors } = load("oidc-provider");

// Stdout is for the issuer alone.
console.info = console.error;

const SCOPES = ["notes:read", "notes:write"];
const settings = { lifetime: 3600, format: "jwt" };
const counts = { registrations: 0, authorizations: 0, codes: 0, refreshes: 0, refusals: 0 };
const grants = new Set();
const clients = new Set();

/** All that providers keep, by model and id. It outlives a provider, whose keys cannot be changed. */
const rows = new Map();
class Adapter {
    constructor(model) {
        this.key = (id) => `${model}:${id}`;
        this.all = () => [...rows].filter(([key]) => key.startsWith(`${model}:`));
    }
    async upsert(id, payload) {
        rows.set(this.key(id), payload);
    }
    async find(id) {
        return rows.get(this.key(id));
    }
    async findByUid(uid) {
        return this.all().find(([, payload]) => payload.uid === uid)?.[1];
    }
    async consume(id) {
        rows.get(this.key(id)).consumed = Math.floor(Date.now() / 1000);
    }
    async destroy(id) {
        rows.delete(this.key(id));
    }
    async revokeByGrantId(id) {
        for (const [key, { grantId }] of this.all()) if (grantId === id) rows.delete(key);
    }
}

function newKey() {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), alg: "RS256", use: "sig" };
}

/** What tokens for a resource look like. */
function resourceServer(_, resource) {
    if (!["127.0.0.1", "localhost"].includes(new URL(resource).hostname)) throw new errors.InvalidTarget();
    const { lifetime: accessTokenTTL, format: accessTokenFormat } = settings;
    return { scope: SCOPES.join(" "), audience: resource, accessTokenTTL, accessTokenFormat, jwt: { sign: { alg: "RS256" } } };
}

/** A provider with a new key. */
function provider() {
    const made = new Provider(issuer, {
        adapter: Adapter,
        jwks: { keys: [newKey()] },
        cookies: { keys: ["not a secret"] },
        scopes: ["openid", "offline_access", ...SCOPES],
        pkce: { required: () => true },
        rotateRefreshToken: true,
        clients: [{
            client_id: "resource-server", client_secret: "introspect", token_endpoint_auth_method: "client_secret_basic",
            redirect_uris: [], grant_types: [], response_types: [],
        }, {
            // A hub whose people log in here. Of a native client, every port is accepted.
            client_id: "hub", token_endpoint_auth_method: "none", application_type: "native",
            redirect_uris: ["http://127.0.0.1/oauth/callback"], grant_types: ["authorization_code"], response_types: ["code"],
        }],
        features: {
            devInteractions: { enabled: true },
            introspection: { enabled: true },
            registration: { enabled: true },
            resourceIndicators: { enabled: true, getResourceServerInfo: resourceServer, useGrantedResource: () => true },
            revocation: { enabled: true },
        },
    });
    made.on("grant.saved", ({ jti }) => grants.add(jti));
    made.on("registration_create.success", (_, client) => {
        clients.add(client.clientId);
        counts.registrations += 1;
        // As at most authorization servers, clients are not held to the scopes that they named when they registered.
        made.Client.adapter.upsert(client.clientId, { ...client.metadata(), scope: undefined });
    });
    made.on("authorization.success", () => (counts.authorizations += 1));
    made.on("grant.success", ({ oidc: { params } }) => (counts[params.grant_type === "refresh_token" ? "refreshes" : "codes"] += 1));
    made.on("grant.error", (_, error) => {
        counts.refusals += 1;
        console.error(`token refused: ${error.error_detail ?? error.error_description ?? error}`);
    });
    made.on("authorization.error", (_, error) => console.error(`authorization refused: ${error.error_description}`));
    made.on("registration_create.error", (_, error) => console.error(`registration refused: ${error.error_description}`));
    made.on("server_error", (_, error) => console.error(error));
    return { made, handle: made.callback() };
}

const control = {
    "POST /control/settings": async (request) => Object.assign(settings, await json(request)),
    "POST /control/rotate-keys": () => {
        current = provider();
        return {};
    },
    "POST /control/revoke": async () => {
        for (const id of grants) await (await current.made.Grant.find(id))?.destroy();
        return { revoked: grants.size };
    },
    "POST /control/forget-clients": async () => {
        for (const id of clients) await current.made.Client.adapter.destroy(id);
        return { forgotten: clients.size };
    },
    "GET /control/counts": () => counts,
};

const server = createServer(async (request, response) => {
    const command = control[`${request.method} ${request.url}`];
    if (!command) return current.handle(request, response);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(await command(request)));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const issuer = `http://127.0.0.1:${server.address().port}`;
let current = provider();
console.log(issuer);
process.stdin.on("end", () => process.exit()).resume();
