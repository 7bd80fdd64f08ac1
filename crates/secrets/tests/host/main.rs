//! A process that sets secrets until it is done or killed: `secrets-test-host FILE KEY PREFIX COUNT` sets `COUNT` secrets whose names
//! begin with `PREFIX`, and prints each name when its secret is set. `KEY` is the path of a key file, or `-` for a plain file.

use std::{
    env,
    io::{self, Write},
    sync::Arc,
};

use toolbay_secrets::{KeyringPrompts, Secret, SecretName, StoreConfig, StoreKey, StoreKind, open_store};
use toolbay_supervise::shim;

fn main() {
    shim::run_if_asked();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be built").block_on(set_secrets());
}

async fn set_secrets() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [path, key, prefix, count] = &arguments[..] else { panic!("wrong arguments: {arguments:?}") };
    let (kind, key) = match key.as_str() {
        "-" => (StoreKind::PlainFile, None),
        path => (StoreKind::EncryptedFile, Some(Arc::new(StoreKey::file(path)))),
    };
    let config = StoreConfig {
        path: path.into(),
        kind: Some(kind),
        buses: Vec::new(),
        key,
        prompts: KeyringPrompts::Never,
    };
    for number in 0..count.parse().expect("the count is a number") {
        let name: SecretName = format!("{prefix}_{number}").parse().expect("the name is valid");
        let secret = Secret::new(format!("value of {name}")).expect("the secret is valid");
        let store = open_store(&config).await.expect("the store can be opened");
        store.set(&name, &secret).await.expect("the secret can be set");
        writeln!(io::stdout(), "{name}").expect("the test reads what is printed");
    }
}
