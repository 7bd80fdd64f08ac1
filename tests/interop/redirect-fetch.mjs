// Sends what a published server sends to Brave to a service of the test instead: node --import redirect-fetch.mjs …
const { fetch } = globalThis;
const service = process.env.TEST_BRAVE_SERVICE;
globalThis.fetch = (url, options) => fetch(String(url).replace('https://api.search.brave.com', service), options);
