//! The GET stream of a session: what the server says of its own accord.

use std::{sync::Arc, time::Duration};

use http::StatusCode;

use super::{HttpError, response::ResponseStream, response_kind::is_stream, session::HttpSession};

const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(30);
/// Whatever a server wishes, it is not asked more often.
const SHORTEST_DELAY: Duration = Duration::from_millis(100);

/// Listens for as long as the server offers it. The error is one that ends the session.
pub(super) async fn listen(link: Arc<HttpSession>) -> Result<(), HttpError> {
    let mut answer = ResponseStream::new(&link, None);
    let mut delay = FIRST_DELAY;
    let mut was_open = false;
    loop {
        let last_event = answer.last_event().map(str::to_owned);
        match link.get(last_event.as_deref()).await {
            Ok(response) if is_stream(&response) => {
                was_open = true;
                if answer.take_stream(response.into_body()).await.said_something {
                    delay = FIRST_DELAY;
                }
            }
            Ok(response) => match response.status() {
                // Of one that never offered a stream it means only that.
                StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST
                    if was_open && link.agreed().session.is_some() =>
                {
                    return Err(HttpError::SessionGone { url: link.shown() });
                }
                StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS => {}
                status if status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED => {}
                _ => return Ok(()), // it offers none
            },
            // While other streams are open, the server is still there.
            Err(why @ HttpError::Unreachable { .. }) if !link.is_open() => return Err(why),
            Err(HttpError::Redirected { .. }) => return Ok(()),
            Err(_) => {}
        }
        tokio::time::sleep(answer.retry().unwrap_or(delay).max(SHORTEST_DELAY)).await;
        delay = (delay * 2).min(LONGEST_DELAY);
    }
}
