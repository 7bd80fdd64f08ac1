//! Calls that hang, and what became of them.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::test_server::TestServer;

type Fates = Arc<Mutex<HashMap<String, &'static str>>>;

/// Adds `hang`, which never ends by itself (after a server request, with the argument `ask`), and `fate`, which tells what
/// became of a `hang` with the same `key`.
pub(super) fn add(server: TestServer) -> TestServer {
    let fates = Fates::default();
    let seen = fates.clone();
    server
        .with_async_tool("hang", move |args, context| {
            let hanging = Hanging::begin(&fates, key(&args));
            async move {
                context.progress(1.0, 2.0).await; // so that a client can know that it hangs
                let _hanging = hanging;
                if args["ask"] == true {
                    context.roots().await?;
                }
                std::future::pending().await
            }
        })
        .with_tool("fate", move |args| {
            Ok(json!({"fate": seen.lock().get(&key(&args)).copied().unwrap_or("unknown")}))
        })
}

fn key(args: &Value) -> String {
    args["key"].as_str().unwrap_or_default().to_owned()
}

/// A call that hangs; dropped when it is cancelled.
struct Hanging {
    fates: Fates,
    key: String,
}

impl Hanging {
    fn begin(fates: &Fates, key: String) -> Self {
        fates.lock().insert(key.clone(), "running");
        Self { fates: fates.clone(), key }
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        self.fates.lock().insert(std::mem::take(&mut self.key), "cancelled");
    }
}
