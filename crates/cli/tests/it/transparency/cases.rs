//! JSON that is unusual but valid.

/// Ids of requests.
pub(super) const IDS: [&str; 6] =
    ["1", "\"1\"", "\"\"", "\"\\u00e9 \\/ \\ud83d\\ude00\"", "12345678901234567890", "-7"];

/// `params` of a call. `NAME` and `META` are filled in.
pub(super) fn params() -> Vec<String> {
    let texts = [
        // Numbers that no 64 bits hold, and spellings that a tree forgets.
        r#"{"name":"NAME","arguments":{"a":12345678901234567890,"b":-98765432109876543210,"c":1.0,"d":1e400,"e":-0,"f":-0.0,"g":1E+2,"h":1.50,"i":0.1e-7,"j":123456789.123456789123456789},"_meta":{META"n/1":1.0,"n/2":1e400,"n/3":-0}}"#,
        // Escapes that may be written in other ways.
        r#"{"name":"NAME","arguments":{"a":"\u00e9","b":"\/","c":"\ud83d\ude00","d":"\u0041","e":"é😀","f":"\u0000\u001f\u007f","g":"\b\f\n\r\t\"\\","h":"\ud800","i":"\u2028\u2029","\u006bey":1},"_meta":{META"e/s":"\u00e9\/"}}"#,
        // Unknown fields at every level, before and after what is known.
        r#"{"unknown":{"x":[1,{"y":null}]},"name":"NAME","arguments":{"_meta":{"deep":true},"x":{"_meta":{"deeper":1}}},"job":{"ttl":60000},"_meta":{META"v/m":{"_meta":{"z":1.0}}},"last":[true,false,null,{}]}"#,
        // Keys in an unusual order, `_meta` first.
        r#"{"_meta":{META"z/z":0,"a/a":1},"zz":1,"arguments":{"z":1,"a":2,"m":{"z":1,"a":2}},"name":"NAME","aa":2}"#,
        // White space.
        "{ \"name\" :\t\"NAME\" ,\n  \"arguments\" : {\r\n \"a\" : [ 1 , 2 ,\n3 ] , \"b\" : { } } ,\n \"_meta\" : { META \"w/s\" : [ ] , \"progressToken\":\"t 1\" } }",
        // A token of the client's own, and nothing else.
        r#"{"name":"NAME","arguments":{},"_meta":{META"progressToken":12345678901234567890}}"#,
        r#"{"name":"NAME","_meta":{META"progressToken":"\u00e9"}, "arguments" : {"t":"\u00e9"}}"#,
        // Empty and nearly empty.
        r#"{"name":"NAME","arguments":{"":{"":[]}," ":"","a.b":1,"a/b":{"~":1}},"_meta":{META"":1}}"#,
        // What looks like something of ours.
        r#"{"name":"NAME","arguments":{"name":"s__mirror","id":1,"jsonrpc":"1.0","method":"x","progressToken":5,"params":{"_meta":{"progressToken":"no"}}},"_meta":{META"id":1,"name":"s__mirror"}}"#,
    ];
    let mut all: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    all.push(format!(
        r#"{{"name":"NAME","arguments":{{"deep":{}}},"_meta":{{META"d/d":{}}}}}"#,
        nested(100),
        nested(100)
    ));
    all.push(format!(
        r#"{{"name":"NAME","arguments":{{"long":"{}","many":[{}1]}},"_meta":{{META"l/l":1}}}}"#,
        "é".repeat(100_000),
        "1.0,".repeat(50_000)
    ));
    all
}

/// Results of a tool. `RESULT_TYPE` is what the stateless revision wants in them, or nothing.
pub(super) fn results() -> Vec<String> {
    let texts = [
        r#"{RESULT_TYPE"content":[{"type":"text","text":"ok","unknown":[1,{"a":null}],"_meta":{"b/l":1.0}}],"isError":false,"unknown":{"deep":{"x":null}},"_meta":{"r/r":-0}}"#,
        r#"{RESULT_TYPE"content":[],"structuredContent":{"a":12345678901234567890,"b":1.0,"c":1e400,"d":-0,"e":1E+2,"f":123456789.123456789123456789}}"#,
        r#"{RESULT_TYPE"content":[{"text":"\u00e9\/\ud83d\ude00\u0041\ud800\u2028","type":"text"}],"\u006bey":"é😀"}"#,
        "{ RESULT_TYPE \"zz\" : 1 ,\t\"content\" : [ ] ,\n \"aa\" :\r\n { \"b\" : [ 1 ,\n 2 ] } }",
        r#"{"zz":1,"content":[],RESULT_TYPE"aa":2,"_meta":{"z/z":0,"a/a":{"_meta":{}}}}"#,
        r#"{RESULT_TYPE"content":[{"type":"resource_link","uri":"test:\/\/x","name":"x","size":1.0},{"type":"image","data":"AAAA","mimeType":"image\/png"},{"type":"hostile/unknown","x":{}}],"isError":true}"#,
        r#"{RESULT_TYPE"content":[],"id":1,"jsonrpc":"1.0","method":"x","error":{"code":1},"params":{"_meta":{"progressToken":1}}}"#,
    ];
    let mut all: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    all.push(format!(r#"{{RESULT_TYPE"content":[],"deep":{}}}"#, nested(100)));
    all.push(format!(r#"{{RESULT_TYPE"content":[{{"type":"text","text":"{}"}}]}}"#, "é\\/".repeat(200_000)));
    all
}

/// Objects and arrays in turn, `depth` in all.
fn nested(depth: usize) -> String {
    let (mut open, mut close) = (String::new(), String::new());
    for level in 0..depth {
        let (before, after) = if level % 2 == 0 { ("{\"k\":", "}") } else { ("[", "]") };
        open.push_str(before);
        close.insert_str(0, after);
    }
    format!("{open}1.0{close}")
}
