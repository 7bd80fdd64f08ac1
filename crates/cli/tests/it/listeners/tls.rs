//! HTTPS with a given certificate.

use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::Arc,
};

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};

use toolbay_testkit::TlsFront;

use crate::program::{Home, Serving};

const CERTIFICATE: &str = TlsFront::CERTIFICATE;
const KEY: &str = TlsFront::KEY;

fn home() -> Home {
    let home = Home::new();
    home.write("cert.pem", CERTIFICATE);
    home.write_secret("key.pem", KEY);
    home
}

fn serve(home: &Home) -> Serving {
    let hub = home.serve(&["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    assert!(hub.url.starts_with("https://127.0.0.1:"), "{}", hub.url);
    hub
}

fn port(hub: &Serving) -> u16 {
    hub.url.trim_end_matches("/mcp").rsplit(':').next().unwrap().parse().unwrap()
}

/// The answer to a GET over TLS, and the protocol that was agreed on.
fn get(hub: &Serving, protocols: &[&str]) -> (String, Option<String>) {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    let connection =
        ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap()).unwrap();
    let socket = TcpStream::connect(("127.0.0.1", port(hub))).unwrap();
    let mut stream = StreamOwned::new(connection, socket);
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer); // how it ends is of no interest
    let agreed = stream.conn.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
    (answer, agreed)
}

#[test]
fn clients_of_http_1_and_2_come_in() {
    let home = home();
    let hub = serve(&home);
    for protocols in [&[][..], &["http/1.1"]] {
        let (answer, agreed) = get(&hub, protocols);
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(r#""status":"ok""#), "{answer}");
        assert_eq!(agreed.as_deref(), protocols.first().copied());
    }
    assert_eq!(get(&hub, &["h2", "http/1.1"]).1.as_deref(), Some("h2"));
    // Another hub is a client of this one, on HTTP/2.
    home.write(
        "mcp.json",
        &format!(r#"{{"mcpServers": {{"safe": {{"url": "https://localhost:{}/mcp"}}}}}}"#, port(&hub)),
    );
    let call = ["call", "safe__hub__status", "--config", "mcp.json"];
    let called = home.command(&call).env("SSL_CERT_FILE", home.path("cert.pem")).output().unwrap();
    assert!(called.status.success(), "{called:?}");
}

#[test]
fn clients_without_tls_are_refused_and_affect_no_others() {
    let home = home();
    let mut hub = serve(&home);
    let _silent = TcpStream::connect(("127.0.0.1", port(&hub))).unwrap();
    let mut plain = TcpStream::connect(("127.0.0.1", port(&hub))).unwrap();
    plain.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer); // an end or a reset
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP/"), "{answer:?}");
    assert!(get(&hub, &[]).0.starts_with("HTTP/1.1 200"));
    assert_eq!(hub.stop(), Some(0));
}

#[test]
fn files_that_are_of_no_use_are_named() {
    let home = home();
    home.write_secret("empty.pem", "nothing here\n");
    let other = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\n-----END PRIVATE KEY-----\n";
    home.write_secret("other.pem", other);
    home.write("open.pem", KEY);
    for (certificate, key, said) in [
        ("missing.pem", "key.pem", "cannot read missing.pem"),
        ("cert.pem", "missing.pem", "cannot read missing.pem"),
        ("empty.pem", "key.pem", "no PEM certificate"),
        ("cert.pem", "empty.pem", "no PEM private key"),
        ("cert.pem", "other.pem", "cannot be used together"),
        ("cert.pem", "open.pem", "open.pem is readable by other users"),
    ] {
        let ran = home
            .run(&["serve", "--listen", "127.0.0.1:0", "--tls-cert", certificate, "--tls-key", key])
            .expect(2);
        assert!(ran.stderr.contains(said), "{ran:#?}");
    }
    home.run(&["serve", "--listen", "127.0.0.1:0", "--tls-cert", "cert.pem"]).expect(2);
    home.run(&["serve", "--listen", "127.0.0.1:0", "--tls-key", "key.pem"]).expect(2);
}
