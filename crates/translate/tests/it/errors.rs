//! Error codes, and the error that becomes `input_required`.

use toolbay_protocol::{Revision, method};

use crate::text::outcome;

const V03: Revision = Revision::V2025_03_26;
const V06: Revision = Revision::V2025_06_18;
const V11: Revision = Revision::V2025_11_25;
const NEW: Revision = Revision::V2026_07_28;

#[test]
fn codes_are_those_of_the_revision() {
    for (said, method, from, to, expected) in [
        // "No such resource", there and back; the URI stays.
        (
            r#"{"data":{"code":1}, "c\u006fde": -32002,"message":"gone"}"#,
            method::RESOURCES_READ,
            V06,
            NEW,
            r#"{"data":{"code":1},"c\u006fde":-32602,"message":"gone"}"#,
        ),
        (
            r#"{"code":-32602,"message":"gone","data":{"uri":"a:b","n":1.0}}"#,
            method::RESOURCES_READ,
            NEW,
            V03,
            r#"{"code":-32002,"message":"gone","data":{"uri":"a:b","n":1.0}}"#,
        ),
        (
            r#"{"code":-32002,"message":"gone"}"#,
            method::RESOURCES_READ,
            V06,
            V11,
            r#"{"code":-32002,"message":"gone"}"#,
        ),
        // Other things that are wrong with parameters.
        (
            r#"{"code":-32602,"message":"bad cursor"}"#,
            method::RESOURCES_READ,
            NEW,
            V11,
            r#"{"code":-32602,"message":"bad cursor"}"#,
        ),
        (
            r#"{"code":-32602,"message":"bad","data":{"uri":"a:b"}}"#,
            method::TOOLS_CALL,
            NEW,
            V11,
            r#"{"code":-32602,"message":"bad","data":{"uri":"a:b"}}"#,
        ),
        // Codes that only modern revisions have.
        (
            r#"{"code":-32020,"message":"m"}"#,
            method::TOOLS_CALL,
            NEW,
            V11,
            r#"{"code":-32600,"message":"m"}"#,
        ),
        (
            r#"{"code":-32021,"message":"m","data":{"requiredCapabilities":{"roots":{}}}}"#,
            method::TOOLS_CALL,
            NEW,
            V03,
            r#"{"code":-32600,"message":"m","data":{"requiredCapabilities":{"roots":{}}}}"#,
        ),
        (
            r#"{"code":-32022,"message":"m","data":{"supported":[]}}"#,
            method::TOOLS_CALL,
            NEW,
            V06,
            r#"{"code":-32602,"message":"m","data":{"supported":[]}}"#,
        ),
        (
            r#"{"code":-32021,"message":"m"}"#,
            method::TOOLS_CALL,
            NEW,
            NEW,
            r#"{"code":-32021,"message":"m"}"#,
        ),
        (r#"{"code":7,"message":"own"}"#, method::TOOLS_CALL, NEW, V03, r#"{"code":7,"message":"own"}"#),
    ] {
        let expected = format!(r#""error":{expected}"#);
        assert_eq!(outcome(&format!(r#""error":{said}"#), method, from, to), expected, "{said}");
    }
}

const PAGE: &str = r#""error":{"code":-32042,"message":"Sign in.","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://a.example/x","message":"Allow it","x":1.0},{"mode":"url","elicitationId":"f","url":"https://b.example/","message":"And this"}]}}"#;

#[test]
fn a_url_elicitation_becomes_input_required() {
    for method in [method::TOOLS_CALL, method::RESOURCES_READ, method::PROMPTS_GET] {
        assert_eq!(
            outcome(PAGE, method, V11, NEW),
            concat!(
                r#""result":{"resultType":"input_required","inputRequests":{"#,
                r#""url-1":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.example/x","message":"Allow it","x":1.0}},"#,
                r#""url-2":{"method":"elicitation/create","params":{"mode":"url","url":"https://b.example/","message":"And this"}}}}"#,
            )
        );
    }
    assert_eq!(outcome(PAGE, method::TOOLS_CALL, V11, V11), PAGE);
}

#[test]
fn clients_without_url_elicitation_get_the_url_in_the_message() {
    let plain = PAGE.replace("-32042", "-32603").replace(
        "Sign in.",
        "Sign in. Visit https://a.example/x and try again. Visit https://b.example/ and try again.",
    );
    assert_eq!(outcome(PAGE, method::TOOLS_CALL, V11, V06), plain);
    assert_eq!(outcome(PAGE, method::TOOLS_CALL, V11, Revision::V2024_11_05), plain);
    assert_eq!(outcome(PAGE, method::COMPLETE, V11, NEW), plain); // must not be answered with a server request
    let nowhere = r#""error":{"code":-32042,"message":"m"}"#;
    let plain = r#""error":{"code":-32603,"message":"m"}"#;
    assert_eq!(outcome(nowhere, method::TOOLS_CALL, V11, NEW), plain);
    assert_eq!(outcome(nowhere, method::TOOLS_CALL, V11, V03), plain);
}
