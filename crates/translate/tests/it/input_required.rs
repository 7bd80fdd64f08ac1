//! What is asked, and the retry.

use toolbay_translate::{InputRequest, InputRequired, input_requests, retry, url_elicitations};

use crate::text::{request, response};

fn required(result: &str) -> Option<InputRequired> {
    input_requests(&response(&format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#)))
}

#[test]
fn input_requests_are_read_in_order_and_written_again() {
    let text = r#"{"resultType":"input_required","inputRequests":{"z\"":{"method":"elicitation/create","params":{"a": 1.0}},"a":{"method":"roots/list"}},"requestState":"s\u0041"}"#;
    let read = required(text).unwrap();
    let question = |key: &str, method: &str, params: Option<&str>| InputRequest {
        key: key.to_owned(),
        method: method.to_owned(),
        params: params.map(str::to_owned),
    };
    assert_eq!(
        read,
        InputRequired {
            requests: vec![
                question("z\"", "elicitation/create", Some(r#"{"a": 1.0}"#)),
                question("a", "roots/list", None)
            ],
            request_state: Some(r#""s\u0041""#.to_owned()),
        }
    );
    assert_eq!(read.to_result(), text);
}

#[test]
fn what_requires_nothing_is_not_input_required() {
    let state_only = r#"{"resultType":"input_required","requestState":"s"}"#;
    assert_eq!(required(state_only).unwrap().requests, []);
    assert_eq!(required(state_only).unwrap().to_result(), state_only);
    for other in [
        r#"{"inputRequests":{}}"#,
        r#"{"resultType":"complete","inputRequests":{}}"#,
        r#"{"resultType":"input_required","inputRequests":[]}"#,
        r#"{"resultType":"input_required","inputRequests":{"a":{"params":{}}}}"#,
        r#"{"resultType":"input_required","inputRequests":{"a":{"method":"m"},"\u0061":{"method":"m"}}}"#,
    ] {
        assert_eq!(required(other), None, "{other}");
    }
    let page = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"m","data":{"elicitations":[{"url":"x:y","elicitationId":"e"}]}}}"#;
    assert_eq!(input_requests(&response(page)), None);
    let params = url_elicitations(&response(page)).unwrap().requests.remove(0).params;
    assert_eq!(params.as_deref(), Some(r#"{"url":"x:y","mode":"url"}"#));
    assert_eq!(url_elicitations(&response(&page.replace("-32042", "-32000"))), None);
}

#[test]
fn a_retry_is_the_request_with_the_responses() {
    let call = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call"{params}}}"#);
    let answers =
        [("a".to_owned(), r#"{"action":"accept"}"#.to_owned()), ("b\"".to_owned(), "{\n}".to_owned())];
    let both = r#""inputResponses":{"a":{"action":"accept"},"b\"":{ }},"requestState":"s""#;
    for (params, answers, state, expected) in [
        (
            r#","params":{"name":"n","n":1.0}"#,
            &answers[..],
            Some("\"s\""),
            format!(r#","params":{{"name":"n","n":1.0,{both}}}"#),
        ),
        ("", &answers[..], Some("\"s\""), format!(r#","params":{{{both}}}"#)),
        (
            r#","params":{"requestState":"old","name":"n","inputResponses":{"c":{}}}"#,
            &[],
            None,
            r#","params":{"name":"n"}"#.to_owned(),
        ),
        (
            r#","params":{"requestState":"old","name":"n","inputResponses":{"c":{}}}"#,
            &answers[..],
            Some("\"s\""),
            format!(r#","params":{{"name":"n",{both}}}"#),
        ),
    ] {
        let once = retry(&request(&call(params)), answers, state);
        let once = std::str::from_utf8(&once).unwrap();
        assert_eq!(once, call(&expected));
        assert_eq!(retry(&request(once), answers, state), once, "the same round twice is that round");
    }
}
