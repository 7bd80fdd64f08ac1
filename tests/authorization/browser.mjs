// A user with a headless Chromium, who logs in and consents wherever asked:
//
//   node browser.mjs
//
// Prints its URL as soon as it listens. `POST /open` with a URL as the body opens it in a new tab, as a user's browser would,
// and is answered at once. The user logs in as Ada, consents to everything, and ends where the page asks nothing any more.
// `GET /visits` waits until all tabs have ended and lists what the user saw: `{ url, pages, text }`, with the headings of the pages
// and the text of the last. `POST /user` takes another name to log in with, without the cookies of the last, or `nobody`, who
// declines. Packages and Chromium are loaded from `$TOOLBAY_TEST_PEERS`.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";

const peers = resolve(process.env.TOOLBAY_TEST_PEERS);
const { chromium } = createRequire(join(peers, "npm", "package.json"))("playwright-core");

const folder = join(peers, "chromium");
const browser = await chromium.launch({
    executablePath: join(folder, "chromium"),
    // Everything that it visits is ours, and the sandbox does not work for root.
    args: ["--no-sandbox", "--no-zygote", "--disable-gpu"],
    env: { ...process.env, LD_LIBRARY_PATH: join(folder, "lib"), FONTCONFIG_FILE: join(folder, "fonts.conf") },
});
let user = "ada";
let context = await freshContext();
let visits = [];

const LONGEST = 20_000;
const DECLINE = "text=/^\\W*(cancel|deny|decline)\\W*$/i";
const CONSENT = "form[method=post] button[type=submit], form[method=post] button:not([type])";

/** Cookies of its own, and no way out of this machine. */
async function freshContext() {
    const context = await browser.newContext();
    await context.route((url) => !["127.0.0.1", "localhost"].includes(url.hostname), (route) => route.abort());
    return context;
}

/** Opens a URL and does what its pages ask for. */
async function visit(url) {
    const page = await context.newPage();
    page.setDefaultTimeout(LONGEST);
    const pages = [];
    try {
        await page.goto(url);
        // A login, a consent, and perhaps the same at a second authorization server.
        for (let step = 0; step < 6; step += 1) {
            pages.push(await page.$eval("h1", (heading) => heading.innerText).catch(() => page.title()));
            const next = await button(page);
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

/** What to click on a page, after its form is filled in. */
async function button(page) {
    if (user === "nobody") return page.$(DECLINE);
    const name = await page.$("input[name=login]");
    if (name) {
        await name.fill(user);
        await page.fill("input[type=password]", "any");
    }
    return page.$(CONSENT);
}

const server = createServer(async (request, response) => {
    const body = await text(request);
    switch (`${request.method} ${request.url}`) {
        case "POST /open":
            visits.push(visit(body.trim()));
            return response.writeHead(202).end();
        case "POST /user":
            user = body.trim();
            await context.close();
            context = await freshContext();
            return response.writeHead(204).end();
        case "GET /visits": {
            const all = await Promise.all(visits);
            visits = [];
            return response.setHeader("content-type", "application/json").end(JSON.stringify(all));
        }
        default:
            return response.writeHead(404).end();
    }
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
console.log(`http://127.0.0.1:${server.address().port}`);
