//! The server `fetch`, against sites on loopback.

use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_util::task::TaskTracker;
use toolbay_builtin::fetch::{FetchConfig, fetch};

use crate::client::Client;

/// A site that answers each path with what it is told, and 404 otherwise.
struct Site {
    address: String,
    /// The heads of requests.
    requests: Arc<Mutex<Vec<String>>>,
    _tasks: TaskTracker,
}

fn response(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn html(body: &str) -> Vec<u8> {
    response("200 OK", "Content-Type: text/html; charset=utf-8\r\n", body)
}

fn redirect(to: &str) -> Vec<u8> {
    response("302 Found", &format!("Location: {to}\r\n"), "")
}

impl Site {
    async fn new(pages: impl IntoIterator<Item = (&'static str, Vec<u8>)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let pages: BTreeMap<&str, Vec<u8>> = pages.into_iter().collect();
        let (requests, tasks) = (Arc::new(Mutex::new(Vec::new())), TaskTracker::new());
        let (seen, pages, inner) = (requests.clone(), Arc::new(pages), tasks.clone());
        tasks.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (seen, pages) = (seen.clone(), pages.clone());
                inner.spawn(async move {
                    let mut head = vec![0; 16 * 1024];
                    let length = stream.read(&mut head).await.unwrap_or(0);
                    let head = String::from_utf8_lossy(&head[..length]).into_owned();
                    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                    seen.lock().push(head);
                    let missing = || response("404 Not Found", "", "nothing here");
                    let page = pages.get(path.as_str()).cloned().unwrap_or_else(missing);
                    let _ = stream.write_all(&page).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self { address, requests, _tasks: tasks }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

async fn open_client() -> Client {
    Client::new(fetch(FetchConfig { allow_private: true, ..FetchConfig::default() })).await
}

async fn get(client: &mut Client, url: &str, more: Value) -> Result<String, String> {
    let mut arguments = json!({ "url": url });
    for (name, value) in more.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    client.call("fetch", arguments).await
}

#[tokio::test]
async fn pages_come_as_markdown_in_parts() {
    let latin = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Length: 4\r\n\r\ncaf\xe9".to_vec();
    let site = Site::new([
        ("/", html("<html><body><h1>Title</h1><p>Hello <b>world</b></p><script>x</script></body></html>")),
        ("/json", response("200 OK", "Content-Type: application/json\r\n", "{\"a\": 1}")),
        ("/latin", latin),
        ("/empty", html("<html><body></body></html>")),
        ("/image", response("200 OK", "Content-Type: image/png\r\n", "\0PNG")),
        ("/broken", response("500 Internal Server Error", "", "oops")),
    ])
    .await;
    let mut client = open_client().await;
    let text = get(&mut client, &site.url("/"), json!({})).await.unwrap();
    assert_eq!(text, format!("Contents of {}:\n# Title\n\nHello **world**", site.url("/")));
    let text = get(&mut client, &site.url("/"), json!({ "max_length": 7 })).await.unwrap();
    let truncated =
        "<error>Content truncated. Call the fetch tool with a start_index of 7 to get more content.</error>";
    assert_eq!(text, format!("Contents of {}:\n# Title\n\n{truncated}", site.url("/")));
    let text = get(&mut client, &site.url("/"), json!({ "start_index": 9 })).await.unwrap();
    assert!(text.ends_with(":\nHello **world**"), "{text}");
    let text = get(&mut client, &site.url("/"), json!({ "start_index": 900 })).await.unwrap();
    assert!(text.ends_with(":\n<error>No more content available.</error>"), "{text}");
    let raw = get(&mut client, &site.url("/"), json!({ "raw": true })).await.unwrap();
    let prefix = "Content type text/html; charset=utf-8 cannot be simplified to markdown, but here is the raw content:\n";
    assert!(raw.starts_with(prefix) && raw.contains("<script>x</script>"), "{raw}");
    let text = get(&mut client, &site.url("/json"), json!({})).await.unwrap();
    assert!(
        text.starts_with("Content type application/json cannot") && text.ends_with("{\"a\": 1}"),
        "{text}"
    );
    assert!(get(&mut client, &site.url("/latin"), json!({})).await.unwrap().ends_with("café"));
    let text = get(&mut client, &site.url("/empty"), json!({})).await.unwrap();
    assert!(text.ends_with("<error>Page failed to be simplified from HTML</error>"), "{text}");
    let error = get(&mut client, &site.url("/image"), json!({})).await.unwrap_err();
    assert!(error.ends_with(": it is not text: content type image/png, 4 bytes"), "{error}");
    let error = get(&mut client, &site.url("/broken"), json!({})).await.unwrap_err();
    assert_eq!(error, format!("Failed to fetch {} - status code 500", site.url("/broken")));
    let head = site.requests.lock()[0].to_ascii_lowercase();
    assert!(head.contains("user-agent: modelcontextprotocol/1.0 (autonomous;"), "{head}");
}

#[tokio::test]
async fn robots_txt_is_obeyed_by_models_also_after_redirects() {
    let robots = response("200 OK", "Content-Type: text/plain\r\n", "User-agent: *\nDisallow: /private\n");
    let site = Site::new([
        ("/robots.txt", robots),
        ("/open", html("<p>open</p>")),
        ("/private", html("<p>private</p>")),
        ("/to-private", redirect("/private")),
        ("/loop", redirect("/loop")),
    ])
    .await;
    let mut client = open_client().await;
    assert!(get(&mut client, &site.url("/open"), json!({})).await.unwrap().ends_with("open"));
    for path in ["/private", "/to-private"] {
        let error = get(&mut client, &site.url(path), json!({})).await.unwrap_err();
        let start = format!(
            "The sites robots.txt ({}), specifies that autonomous fetching of this page is not allowed, <useragent>Model",
            site.url("/robots.txt")
        );
        assert!(error.starts_with(&start), "{error}");
        assert!(error.contains("<robots>\nUser-agent: *\nDisallow: /private"), "{error}");
    }
    assert!(!site.requests.lock().iter().any(|head| head.starts_with("GET /private")));
    assert_eq!(site.requests.lock().iter().filter(|head| head.starts_with("GET /robots.txt")).count(), 1);
    let error = get(&mut client, &site.url("/loop"), json!({})).await.unwrap_err();
    assert!(error.ends_with(": more than 10 redirects"), "{error}");
    // What the user asks for is fetched.
    let listed = client.request("prompts/list", json!({})).await;
    let argument = json!({ "name": "url", "description": "URL to fetch", "required": true });
    let expected = json!([{
        "name": "fetch",
        "description": "Fetch a URL and extract its contents as markdown",
        "arguments": [argument],
    }]);
    assert_eq!(listed["result"]["prompts"], expected);
    let params = json!({ "name": "fetch", "arguments": { "url": site.url("/private") } });
    let prompt = client.request("prompts/get", params).await;
    let message = json!({ "role": "user", "content": { "type": "text", "text": "private" } });
    assert_eq!(prompt["result"]["messages"], json!([message]));
    let missing = client.request("prompts/get", json!({ "name": "fetch" })).await;
    assert_eq!(missing["error"]["code"], -32602);
    let forbidden = Site::new([("/robots.txt", response("403 Forbidden", "", ""))]).await;
    let error = get(&mut client, &forbidden.url("/"), json!({})).await.unwrap_err();
    assert!(
        error.contains("received status 403 so assuming that autonomous fetching is not allowed"),
        "{error}"
    );
    let config = FetchConfig { allow_private: true, ignore_robots_txt: true, ..FetchConfig::default() };
    let mut client = Client::new(fetch(config)).await;
    assert!(get(&mut client, &site.url("/private"), json!({})).await.unwrap().ends_with("private"));
}

#[tokio::test]
async fn only_public_addresses_are_connected_to() {
    let site = Site::new([("/", html("<p>secret</p>"))]).await;
    let port = site.address.rsplit_once(':').unwrap().1;
    let mut client = Client::new(fetch(FetchConfig::default())).await;
    for host in [
        "127.0.0.1",
        "localhost",
        "127.1",
        "2130706433",
        "0x7f.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "169.254.169.254",
        "10.0.0.1",
    ] {
        let error = get(&mut client, &format!("http://{host}:{port}/"), json!({})).await.unwrap_err();
        assert!(error.starts_with("Refused to fetch http://"), "{host}: {error}");
        assert!(
            error.contains("which is not a public address. Set `private_addresses = true`"),
            "{host}: {error}"
        );
    }
    assert!(site.requests.lock().is_empty());
}

#[tokio::test]
async fn a_public_page_does_not_lead_to_a_private_address() {
    let secret = Site::new([("/", html("<p>secret</p>"))]).await;
    // A proxy stands for the rest of the world.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy_url = format!("http://{}", listener.local_addr().unwrap());
    let (to, tasks) = (secret.url("/"), TaskTracker::new());
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = vec![0; 16 * 1024];
            let length = stream.read(&mut head).await.unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            let page = match head.starts_with("GET http://public.invalid/there") {
                true => redirect(&to),
                false => html("<p>by proxy</p>"),
            };
            let _ = stream.write_all(&page).await;
            let _ = stream.shutdown().await;
        }
    });
    let config = FetchConfig {
        proxy_url: Some(proxy_url),
        ignore_robots_txt: true,
        user_agent: Some("test/1".into()),
        ..FetchConfig::default()
    };
    let mut client = Client::new(fetch(config)).await;
    assert!(get(&mut client, "http://public.invalid/", json!({})).await.unwrap().ends_with("by proxy"));
    let error = get(&mut client, "http://public.invalid/there", json!({})).await.unwrap_err();
    assert!(error.contains("127.0.0.1 resolves to 127.0.0.1, which is not a public address"), "{error}");
    assert!(secret.requests.lock().is_empty());
}

#[tokio::test]
async fn mistakes_are_explained() {
    let mut client = open_client().await;
    for (url, expected) in [
        ("", "invalid arguments for `fetch`: /url must be a string of at least 1 characters"),
        ("example", "invalid arguments for `fetch`: /url is not a valid URL: relative URL without a base"),
        (
            "file:///etc/passwd",
            "Failed to fetch file:///etc/passwd: `file` is not supported, only http and https",
        ),
        (
            "http://me:secret@localhost/",
            "Failed to fetch http://me:secret@localhost/: URLs with a user name or password are not supported",
        ),
        (
            "http://localhost:1/x",
            "Failed to fetch robots.txt http://localhost:1/robots.txt due to a connection issue",
        ),
    ] {
        assert_eq!(get(&mut client, url, json!({})).await, Err(expected.to_owned()), "{url}");
    }
    let config = FetchConfig { allow_private: true, ignore_robots_txt: true, ..FetchConfig::default() };
    let mut client = Client::new(fetch(config)).await;
    let error = get(&mut client, "http://localhost:1/x", json!({})).await.unwrap_err();
    assert!(error.starts_with("Failed to fetch http://localhost:1/x: cannot connect to"), "{error}");
    let long = response("200 OK", "Content-Type: text/plain\r\n", &"x".repeat(11 << 20));
    let site = Site::new([("/long", long)]).await;
    let error = get(&mut client, &site.url("/long"), json!({})).await.unwrap_err();
    assert!(error.ends_with("has more than 10485760 bytes"), "{error}");
}
