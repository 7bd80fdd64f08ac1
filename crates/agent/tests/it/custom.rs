//! A transport of one's own, as the example shows it.

#[path = "../../examples/custom_transport.rs"]
#[expect(dead_code, reason = "`main` is for people")]
mod example;

use std::time::Duration;

use tokio::time::timeout;

#[tokio::test]
async fn the_example_of_a_custom_transport_runs() {
    let folder = tempfile::tempdir().unwrap();
    let offered = example::tools_behind(folder.path().join("socket"));
    let (transport, tools) = timeout(Duration::from_secs(20), offered).await.expect("it hangs").unwrap();
    assert_eq!(transport, "unix socket");
    assert_eq!(tools, ["small__greet"]);
}
