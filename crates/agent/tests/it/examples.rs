//! The other examples do what they say.

#[path = "../../examples/agent_host.rs"]
#[expect(dead_code, reason = "`main` is for people")]
mod agent_host;
#[path = "../../examples/in_process_server.rs"]
#[expect(dead_code, reason = "`main` is for people")]
mod in_process_server;

use serde_json::json;
use toolbay_agent::{Agent, tool_fn};

#[tokio::test]
async fn the_example_of_an_agent_runs() {
    let hello =
        tool_fn("hello", "Says hello.", json!({"type": "object"}), |_| async { Ok("Hello!".to_owned()) });
    assert_eq!(agent_host::turn(Agent::builder().tools("own", vec![hello])).await.unwrap(), "Hello!");
}

#[tokio::test]
async fn the_example_of_an_in_process_server_runs() {
    let said = in_process_server::conversation().await.unwrap();
    assert_eq!((said[0].as_str(), said[2].as_str()), ("1 notes", "buy milk"));
    assert!(said[1].contains("\"note\" is a required property"), "{said:?}");
}

#[path = "../../examples/sequential_transport.rs"]
#[expect(dead_code, reason = "`main` is for people")]
mod sequential_transport;

#[tokio::test]
async fn the_example_of_a_sequential_transport_runs() {
    let greeting = tokio::time::timeout(std::time::Duration::from_secs(20), sequential_transport::greeting());
    assert_eq!(greeting.await.expect("it hangs").unwrap(), "Hello!");
}
