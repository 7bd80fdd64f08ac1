//! Many clients with the same ids (S5).

use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    http::Ask,
    test_gateway::{Hub, call, modern},
};

const CLIENTS: u64 = 50;
const CALLS: u64 = 40;

/// Clients of both eras, all counting ids from 0 and all using progress token 1: each gets what is its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_client_ever_gets_the_answer_or_the_progress_of_another() {
    let hub = Hub::start().await;
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let address = hub.address.clone();
        let session = if client % 2 == 0 { Some(hub.session("2025-11-25").await) } else { None };
        clients.spawn(async move {
            for id in 0..CALLS {
                let nonce = format!("{client}/{id}");
                let steps = (client + id) % 3;
                let mut message = call(
                    id,
                    "steps",
                    json!({"nonce": nonce, "steps": steps, "ms": (client * 7 + id * 13) % 10}),
                );
                message["params"]["_meta"]["progressToken"] = json!(1);
                let ask = match &session {
                    Some(session) => Ask::post(&message).header("mcp-session-id", session),
                    None => modern(message),
                };
                let mut answer = ask.send(&address).await;
                assert_eq!(answer.status, 200);
                let answer = if answer.is_stream() {
                    for step in 1..=steps {
                        let event = answer.event().await.unwrap();
                        assert_eq!(event["params"]["progress"], step, "foreign progress: {event}");
                        assert_eq!(event["params"]["progressToken"], 1);
                    }
                    answer.event().await.unwrap()
                } else {
                    assert_eq!(steps, 0);
                    answer.json().await
                };
                assert_eq!(answer["id"], id);
                assert_eq!(answer["result"]["structuredContent"]["nonce"], nonce, "a foreign answer");
            }
        });
    }
    clients.join_all().await;
    let counts = hub.host.server("s").unwrap().counts();
    assert_eq!((counts.calls, counts.in_flight, counts.stray_answers), (CLIENTS * CALLS, 0, 0));
}
