//! Which parameters stand in headers, and how.

use toolbay_protocol::header_params::{
    AmbiguousArguments, BadAnnotation, HeaderParam, decode_header_value, encode_header_value, header_params,
    without_annotations,
};

fn schema(properties: &str) -> String {
    format!(r#"{{"type":"object","properties":{properties}}}"#)
}

fn found(properties: &str) -> Vec<(String, String)> {
    let params = header_params(&schema(properties)).unwrap();
    params.into_iter().map(|param| (param.header_name(), param.path.join("/"))).collect()
}

#[test]
fn annotated_parameters_are_found_at_any_depth_of_properties() {
    assert_eq!(header_params("{}"), Ok(Vec::new()));
    let pairs = found(
        r#"{"region":{"type":"string","x-mcp-header":"Region"},
            "where":{"type":"object","properties":{"\u006e":{"type":"integer","x-mcp-header":"N"}}},
            "verbose":{"x-mcp-header":"Verbose","type":"boolean"},
            "query":{"type":"string"}}"#,
    );
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, path)| (&**name, &**path)).collect();
    assert_eq!(
        pairs,
        [("mcp-param-region", "region"), ("mcp-param-n", "where/n"), ("mcp-param-verbose", "verbose")]
    );
}

#[test]
fn what_only_looks_like_an_annotation_is_none() {
    for properties in [
        r#"{"x-mcp-header":{"type":"string"}}"#, // a parameter of that name
        r#"{"a":{"default":{"x-mcp-header":"A"},"enum":[{"x-mcp-header":"A"}],"const":{"x-mcp-header":""}}}"#,
        r#"{"a":{"description":"x-mcp-header","examples":[{"x-mcp-header":1}]}}"#,
    ] {
        assert_eq!(found(properties), [], "{properties}");
    }
}

#[test]
fn annotations_that_cannot_be_followed_are_named() {
    let name = |written: &str| BadAnnotation::Name { param: "a".into(), written: written.into() };
    let of_type = || BadAnnotation::Type { param: "a".into() };
    for (properties, why) in [
        (r#"{"a":{"type":"string","x-mcp-header":""}}"#, name(r#""""#)),
        (r#"{"a":{"type":"string","x-mcp-header":"My Region"}}"#, name(r#""My Region""#)),
        (r#"{"a":{"type":"string","x-mcp-header":"A:B"}}"#, name(r#""A:B""#)),
        (r#"{"a":{"type":"string","x-mcp-header":"é"}}"#, name(r#""é""#)),
        (r#"{"a":{"type":"string","x-mcp-header":"A\r\nB: c"}}"#, name(r#""A\r\nB: c""#)),
        (r#"{"a":{"type":"string","x-mcp-header":1}}"#, name("1")),
        (r#"{"a":{"type":"object","x-mcp-header":"A"}}"#, of_type()),
        (r#"{"a":{"type":"array","x-mcp-header":"A"}}"#, of_type()),
        (r#"{"a":{"type":"null","x-mcp-header":"A"}}"#, of_type()),
        (r#"{"a":{"type":"number","x-mcp-header":"A"}}"#, of_type()),
        (r#"{"a":{"type":["string","null"],"x-mcp-header":"A"}}"#, of_type()),
        (r#"{"a":{"x-mcp-header":"A"}}"#, of_type()),
        (
            r#"{"a":{"type":"string","x-mcp-header":"R"},"b":{"type":"string","x-mcp-header":"r"}}"#,
            BadAnnotation::Twice { name: "r".into() },
        ),
        (r#"{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}"#, BadAnnotation::Place),
        (r#"{"a":{"anyOf":[{"type":"string","x-mcp-header":"A"}]}}"#, BadAnnotation::Place),
        (
            r#"{"a":{"oneOf":[{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}]}}"#,
            BadAnnotation::Place,
        ),
        (r#"{"a":{"patternProperties":{"b":{"type":"string","x-mcp-header":"A"}}}}"#, BadAnnotation::Place),
    ] {
        assert_eq!(header_params(&schema(properties)), Err(why), "{properties}");
    }
    let elsewhere =
        r##"{"$defs":{"d":{"type":"string","x-mcp-header":"A"}},"properties":{"a":{"$ref":"#/$defs/d"}}}"##;
    assert_eq!(header_params(elsewhere), Err(BadAnnotation::Place));
    assert_eq!(header_params(r#"{"type":"string","x-mcp-header":"A"}"#), Err(BadAnnotation::Place));
}

#[test]
fn annotations_can_be_cut_out_and_nothing_else_changes() {
    let text = r#"{"properties":{"a":{"x-mcp-header":"A", "type":"array", "items":{"type":"string","x-mcp-header":"B"}},"b":{"x-mcp-header":"B"}}, "x":1.0}"#;
    let left = without_annotations(&text.into()).into_bytes();
    assert_eq!(left, r#"{"properties":{"a":{"type":"array", "items":{"type":"string"}},"b":{}}, "x":1.0}"#);
    assert_eq!(without_annotations(&"{}".into()).into_bytes(), "{}");
}

fn param(path: &[&str], is_integer: bool) -> HeaderParam {
    let path = path.iter().map(|&key| key.to_owned()).collect();
    HeaderParam { name: "P".into(), path, is_integer }
}

#[test]
fn values_are_read_at_their_path() {
    for (arguments, value) in [
        (r#"{"a":"x"}"#, Some("x")),
        (r#"{"a":"line\nline \u00e9"}"#, Some("line\nline é")),
        (r#"{"\u0061":""}"#, Some("")),
        (r#"{"a":true}"#, Some("true")),
        (r#"{"a":42.0}"#, Some("42.0")),
        (r#"{"a":null}"#, None),
        (r#"{"a":{}}"#, None),
        (r#"{"b":1}"#, None),
        ("{}", None),
        ("[]", None),
    ] {
        assert_eq!(
            param(&["a"], false).value_in(arguments.as_bytes()).unwrap().as_deref(),
            value,
            "{arguments}"
        );
    }
    let nested = param(&["a", "b"], true);
    assert_eq!(nested.value_in(br#"{"a":{"b":-7}}"#).unwrap().as_deref(), Some("-7"));
    assert_eq!(nested.value_in(br#"{"a":{"b":4.2e1}}"#).unwrap().as_deref(), Some("42"));
    assert_eq!(nested.value_in(br#"{"a":5}"#), Ok(None));
    assert_eq!(nested.value_in(br#"{"a":{"b":1,"\u0062":2}}"#), Err(AmbiguousArguments));
    assert_eq!(nested.value_in(b"{"), Err(AmbiguousArguments));
}

#[test]
fn integers_agree_by_what_they_mean() {
    let (integer, text) = (param(&["a"], true), param(&["a"], false));
    for (header, body, agree) in [
        ("42", "42", true),
        ("42.0", "42", true),
        ("4.2e1", "42", true),
        ("42", "43", false),
        ("9007199254740993", "9007199254740992", false),
        ("9007199254740993.0", "9007199254740992", false),
        ("9007199254740993", "9007199254740993", true),
        ("inf", "1e999", false),
        ("+1", "1", false),
        ("", "0", false),
    ] {
        assert_eq!(integer.agree(header, body), agree, "{header} {body}");
    }
    assert!(!text.agree("42.0", "42"));
}

#[test]
fn values_travel_in_headers() {
    for (text, header) in [
        ("us-west1", "us-west1"),
        ("us west 1", "us west 1"),
        ("", ""),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("a\tb", "=?base64?YQli?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ] {
        assert_eq!(encode_header_value(text), header);
        assert_eq!(decode_header_value(header).as_deref(), Some(text));
    }
    assert_eq!(decode_header_value("SGVsbG8=").as_deref(), Some("SGVsbG8="));
    assert_eq!(decode_header_value("=?base64?SGVsbG8=").as_deref(), Some("=?base64?SGVsbG8="));
    for broken in ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?/w==?="] {
        assert_eq!(decode_header_value(broken), None, "{broken}");
    }
}
