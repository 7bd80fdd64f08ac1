// A user with a headless Chromium, who logs in and consents wherever asked:
//
//   node browser.mjs
//
// Prints its URL as soon as it listens, and ends with its stdin. Below it, every user has a name, cookies and tabs:
//
//   POST /ada/open      opens the URL in the body in a new tab, as a browser would; answered at once
//   GET  /ada/visits    waits until all tabs have ended, and lists what the user saw: `{ url, pages, text }`, with the headings of
//                       the pages, and the URL and the text of the last
//
// A user logs in with the name, consents to everything, and ends at a page that asks for nothing. Users whose names begin with `no`
// decline. Packages and Chromium are loaded from `$TOOLBAY_TEST_PEERS`.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

const peers = resolve(process.env.TOOLBAY_TEST_PEERS);
const { chromium } = createRequire(join(peers, "npm", "package.json"))("playwright-core");

const folder = join(peers, "chromium");
const browser = await chromium.launch({
    executablePath: join(folder, "chromium"),
    // Everything that it visits is ours, and the sandbox does not work for root.
    args: ["--no-sandbox", "--no-zygote", "--disable-gpu"],
    env: { ...process.env, LD_LIBRARY_PATH: join(folder, "lib"), FONTCONFIG_FILE: join(folder, "fonts.conf") },
});
/** Contexts of Chromium and visits, by user. */
const users = {};

const LONGEST = 20_000;
const DECLINE = "text=/^\\W*(cancel|deny|decline)\\W*$/i";
const CONSENT = "form[method=post] button[type=submit], form[method=post] button:not([type])";

/** A user with cookies of their own, and no way out of this machine. */
async function newUser() {
    const context = await browser.newContext();
    await context.route((url) => !["127.0.0.1", "localhost"].includes(url.hostname), (route) => route.abort());
    return { context, visits: [] };
}

/** Opens a URL and does what its pages ask for. */
async function visit(user, url) {
    const page = await (await users[user]).context.newPage();
    page.setDefaultTimeout(LONGEST);
    const pages = [];
    try {
        await page.goto(url);
        // A login, a consent, and perhaps the same at a second authorization server.
        for (let step = 0; step < 6; step += 1) {
            await arrive(page);
            pages.push(await page.$eval("h1", (heading) => heading.innerText).catch(() => page.title()));
            const next = await button(user, page);
            if (!next) break;
            await Promise.all([page.waitForNavigation(), next.click()]);
        }
        return { url: page.url(), pages, text: await page.innerText("body") };
    } catch (error) {
        return { url: page.url(), pages, text: "", error: String(error) };
    } finally {
        await page.close();
    }
}

/** Waits until a page is there that does not send the browser elsewhere by itself. */
async function arrive(page) {
    while (await page.$("meta[http-equiv=refresh]").catch(() => true)) await sleep(20);
    await page.waitForLoadState();
}

/** What to click on a page, after its form is filled in. */
async function button(user, page) {
    if (user.startsWith("no")) return page.$(DECLINE);
    const name = await page.$("input[name=login]");
    if (name) {
        await name.fill(user);
        await page.fill("input[type=password]", "any");
    }
    return page.$(CONSENT);
}

const server = createServer(async (request, response) => {
    const body = await text(request);
    const [, name, what] = request.url.split("/");
    const user = await (users[name] ??= newUser());
    if (what === "open") {
        user.visits.push(visit(name, body.trim()));
        return response.writeHead(202).end();
    }
    const visits = await Promise.all(user.visits.splice(0));
    response.setHeader("content-type", "application/json").end(JSON.stringify(visits));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
console.log(`http://127.0.0.1:${server.address().port}`);
process.stdin.on("end", () => process.exit()).resume();
