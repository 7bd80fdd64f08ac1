//! Packages without a fixed version.

use crate::support::server;

#[test]
fn s11_a_package_without_a_version_is_known() {
    for (line, expected) in [
        ("npx -y weather", Some("weather")),
        ("npx -y @some/weather", Some("@some/weather")),
        ("npx -y @some/weather@latest --port 80", Some("@some/weather@latest")),
        ("npx -y weather@^1.2.0", Some("weather@^1.2.0")),
        ("npx weather@1", Some("weather@1")),
        ("npx weather@1.x", Some("weather@1.x")),
        ("npx -y weather@1.2.3", None),
        ("npx -y @some/weather@1.2.3-beta.1", None),
        ("npx -y --package=weather@1.2.3 run-it", None),
        ("npx -p weather run-it@1.0.0", Some("weather")),
        ("npx ./weather", None),
        ("npx github:some/weather#0123abc", None),
        ("npx -y -- weather", Some("weather")),
        ("npx", None),
        ("/usr/bin/npx -y weather", Some("weather")),
        ("pnpm dlx weather", Some("weather")),
        ("pnpm install", None),
        ("npm exec weather@1.0.0", None),
        ("uvx weather", Some("weather")),
        ("uvx weather@1.2.3", None),
        ("uvx weather==1.2.3 --x", None),
        ("uvx --from weather==1.2.3 run", None),
        ("uvx --from git+https://h/x run", Some("git+https://h/x")),
        ("uvx --from git+https://h/x@0123abc run", None),
        ("uvx --python 3.12 -q weather", Some("weather")),
        ("pipx run weather==1.0.0", None),
        ("pipx run weather", Some("weather")),
        ("docker run -i --rm -e KEY -v /a:/b some/weather", Some("some/weather")),
        ("docker run -i --rm h:5000/weather:latest serve", Some("h:5000/weather:latest")),
        ("docker run --rm --name=x some/weather:1.2", None),
        ("docker run some/weather@sha256:0123", None),
        ("docker exec -i box weather", None),
        ("node server.js", None),
    ] {
        let mut words = line.split(' ');
        let command = words.next().unwrap();
        let args: Vec<&str> = words.collect();
        let server = server("s", &format!(r#"{{"command": {command:?}, "args": {args:?}}}"#));
        assert_eq!(server.floating_package(), expected, "{line}");
    }
    assert_eq!(server("s", r#"{"url": "http://h/"}"#).floating_package(), None);
}
