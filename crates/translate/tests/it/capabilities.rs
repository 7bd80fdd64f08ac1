//! What clients can be asked.

use toolbay_protocol::{Revision, method};
use toolbay_translate::{ClientCapabilities, HUB_CAPABILITIES, capabilities_for_server, declares_tasks};

const V03: Revision = Revision::V2025_03_26;
const V06: Revision = Revision::V2025_06_18;
const V11: Revision = Revision::V2025_11_25;
const NEW: Revision = Revision::V2026_07_28;

/// The server requests of each kind, one letter each.
fn server_requests(declared: &str, revision: Revision) -> String {
    let can = ClientCapabilities::parse(declared, revision);
    [
        ('f', method::ELICIT, Some(r#"{"message":"m","requestedSchema":{}}"#)),
        ('F', method::ELICIT, Some(r#"{"mode":"form"}"#)),
        ('u', method::ELICIT, Some(r#"{"mode":"\u0075rl","url":"x:y"}"#)),
        ('?', method::ELICIT, Some(r#"{"mode":"voice"}"#)),
        ('s', method::SAMPLE, Some(r#"{"messages":[],"tools":[]}"#)),
        ('t', method::SAMPLE, Some(r#"{"messages":[],"tools":[{"name":"t"}]}"#)),
        ('r', method::ROOTS_LIST, None),
        ('x', "tasks/get", None),
    ]
    .into_iter()
    .filter(|(_, method, params)| can.supports(method, *params))
    .map(|(letter, ..)| letter)
    .collect()
}

#[test]
fn each_revision_has_its_rules() {
    for (declared, revision, expected) in [
        ("{}", NEW, ""),
        ("null", NEW, ""),
        ("no json", NEW, ""),
        (r#"{"elicitation":{}}"#, NEW, "fF"),
        (r#"{"elicitation":{}}"#, V11, "fF"),
        (r#"{"elicitation":{}}"#, V06, "fF"),
        (r#"{"elicitation":{}}"#, V03, "fF"),
        (r#"{"elicitation":null}"#, NEW, ""),
        (r#"{"elicitation":{"form":{},"url":{}}}"#, NEW, "fFu"),
        (r#"{"elicitation":{"form":{},"url":{}}}"#, V06, "fF"),
        (r#"{"elicitation":{"url":{}}}"#, V11, "u"),
        (r#"{"elicitation":{"form":{}}}"#, V11, "fF"),
        (r#"{"sampling":{}}"#, V03, "s"),
        (r#"{"sampling":{"tools":{}}}"#, V06, "s"),
        (r#"{"sampling":{"tools":{}}}"#, V11, "st"),
        (r#"{"roots":{"listChanged":true}}"#, V03, "r"),
        (HUB_CAPABILITIES, V11, "fFusr"),
    ] {
        assert_eq!(server_requests(declared, revision), expected, "{declared} {revision}");
    }
}

#[test]
fn modern_servers_get_what_can_be_bridged() {
    for (declared, from, expected) in [
        (
            r#"{ "extensions":{"a/b":{"n":1.0}}, "x":[] }"#,
            V11,
            r#"{ "extensions":{"a/b":{"n":1.0}}, "x":[] }"#,
        ),
        (
            r#"{"tasks":{"list":{}},"roots":{"listChanged":true},"elicitation":{"url":{}},"sampling":{"tools":{}}}"#,
            V11,
            r#"{"roots":{},"elicitation":{"url":{}},"sampling":{"tools":{}}}"#,
        ),
        (r#"{"elicitation":{"url":{}},"sampling":{"tools":{}}}"#, V06, r#"{"elicitation":{},"sampling":{}}"#),
        (r#"{"elicitation":{},"sampling":{}}"#, V03, r#"{"elicitation":{},"sampling":{}}"#),
        (r#"{"tasks":{},"roots":{"listChanged":true}}"#, NEW, r#"{"tasks":{},"roots":{"listChanged":true}}"#),
        ("[]", V11, "{}"),
    ] {
        assert_eq!(capabilities_for_server(declared, from), expected, "{declared} {from}");
    }
}

#[test]
fn tasks_are_declared_by_an_extension() {
    for (declared, expected) in [
        (r#"{"extensions":{"a":{},"io.modelcontextprotocol/tasks":{"x":1}}}"#, true),
        (r#"{"extensions":{"io.modelcontextprotocol/tasks":null}}"#, false),
        (r#"{"extensions":{"io.modelcontextprotocol/task":{}}}"#, false),
        (r#"{"tasks":{},"io.modelcontextprotocol/tasks":{}}"#, false),
        ("{}", false),
        ("1", false),
    ] {
        assert_eq!(declares_tasks(declared), expected, "{declared}");
    }
}
