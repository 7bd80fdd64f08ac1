//! A host to be killed: `builtin-test-host LEVEL DIRECTORY ARGV` runs a program with the server `shell`, and prints its result. It
//! is the helper and the shim of the tests, too.

use std::{io::Write, path::PathBuf, sync::Arc};

use serde_json::json;
use tokio_util::task::TaskTracker;
use toolbay_builtin::shell::{ShellConfig, shell};
use toolbay_sandbox::Level;
use toolbay_supervise::shim;

fn main() {
    toolbay_sandbox::run_if_asked();
    shim::run_if_asked();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [level, directory, argv] = &arguments[..] else { panic!("three arguments") };
    let sandbox = match level.as_str() {
        "none" => Level::None,
        "partial" => Level::Partial,
        _ => Level::Full,
    };
    let config = ShellConfig { sandbox, ..ShellConfig::new(PathBuf::from(directory)) };
    let argv: Vec<String> = serde_json::from_str(argv).expect("a JSON array");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let result = runtime.block_on(call(shell(config), &argv));
    writeln!(std::io::stdout(), "{result}").expect("the test reads");
}

async fn call(
    connect: Arc<dyn Fn(&TaskTracker) -> toolbay_transport::Connection + Send + Sync>,
    argv: &[String],
) -> String {
    let mut connection = connect(&TaskTracker::new());
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
    let params = json!({ "name": "exec", "arguments": { "argv": argv }, "_meta": meta });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    connection.outgoing.send(request.to_string().into()).await.expect("it is connected");
    match connection.incoming.recv().await {
        Some(toolbay_transport::Incoming::Message(message)) => {
            String::from_utf8_lossy(message.text()).into_owned()
        }
        other => format!("{other:?}"),
    }
}
