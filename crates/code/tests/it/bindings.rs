//! What code gets, and what it gives back.

use std::{sync::atomic::Ordering, time::Duration};

use crate::tools::{Tools, failure, run, run_with, runner, value};

#[tokio::test]
async fn the_value_is_that_of_the_last_expression_or_what_is_returned() {
    for (code, expected) in [
        ("1 + 1", "2"),
        ("const a = 1; a + 1;", "2"),
        ("return 2", "2"),
        ("if (true) { return {value: 3} }", r#"{"value":3}"#),
        ("({value: 3})", r#"{"value":3}"#),
        ("await Promise.resolve('text')", "text"),
        ("Promise.resolve([1, 'a'])", r#"[1,"a"]"#),
        ("async () => { return 4 }", "4"),
        ("const main = async () => 5;\nmain()", "5"),
        ("x = 6; x // undeclared", "6"),
        ("const call = 7; call", "7"),
        ("return 8 // and a comment", "8"),
        ("const a = 1;", ""),
        ("", ""),
        ("10n", "10"),
        ("null", "null"),
        ("const a = {}; a.a = a; a", "[object Object]"),
    ] {
        assert_eq!(value(code).await, expected, "{code}");
    }
}

#[tokio::test]
async fn results_of_tools_are_structured_content_or_text_or_parsed_json() {
    for (code, expected) in [
        ("await tools.test.echo({a: [1]})", r#"{"a":[1]}"#),
        ("await tools['test']['echo']()", "{}"),
        ("await call('echo', {b: 2})", r#"{"b":2}"#),
        ("await call('text')", "some text"),
        ("typeof await call('number')", "string"),
        ("(await call('json'))[1].a", "2"),
        ("(await call('blocks'))[0].type", "image"),
    ] {
        assert_eq!(value(code).await, expected, "{code}");
    }
    let tools = Tools::default();
    run_with(&tools, "await tools.test.echo({a: 1}); await call('test__echo')").await;
    let calls = tools.calls.lock();
    assert_eq!((calls[0].server.as_deref(), calls[0].name.as_str()), (Some("test"), "echo"));
    assert_eq!(&*calls[0].arguments, r#"{"a":1}"#);
    assert_eq!((calls[1].server.as_deref(), calls[1].name.as_str()), (None, "test__echo"));
}

#[tokio::test]
async fn failures_of_tools_are_exceptions() {
    let caught = "try { await tools.test.fail() } catch (error) { return [error.name, error.tool, error.message, error instanceof Error] }";
    assert_eq!(value(caught).await, r#"["ToolError","test.fail","the disk is full",true]"#);
    let said = failure("const a = 1;\nawait tools.test.fail()").await;
    assert!(said.starts_with("ToolError: the disk is full"), "{said}");
    let said = failure("await call('denied')").await;
    assert!(said.contains("no server offers the tool `denied`"), "{said}");
    let said = failure("await call('long')").await;
    assert!(said.contains("bytes long; code gets at most"), "{said}");
    let said = failure("await call('echo', [1])").await;
    assert!(said.contains("arguments are one object"), "{said}");
}

#[tokio::test]
async fn exceptions_say_where_they_come_from() {
    let said = failure("const a = 1;\n\nundefined.field").await;
    assert!(said.contains("TypeError") && said.contains("code.js:3"), "{said}");
    let said = failure("const a = ;").await;
    assert!(said.contains("SyntaxError"), "{said}");
    let said = failure("function f() { throw new RangeError('no') }\nreturn f()").await;
    assert!(said.contains("RangeError: no") && said.contains("code.js:1"), "{said}");
    assert_eq!(failure("throw 'plain'").await, "plain");
    assert_eq!(failure("throw undefined").await, "an exception that cannot be shown");
    let said = failure("await new Promise(() => {})").await;
    assert!(said.contains("a promise that nothing resolves"), "{said}");
}

#[tokio::test]
async fn logs_come_back_also_from_code_that_fails() {
    let finished =
        run("console.log('a', {b: 1}, undefined); console.error(new Error('x').message); throw 1").await;
    assert_eq!(finished.logs, ["a {\"b\":1} undefined", "x"]);
    assert_eq!(finished.outcome, Err("1".to_owned()));
    let finished = run("for (let i = 0; i < 2000; i++) console.log('x'.repeat(1000)); 'done'").await;
    assert_eq!(finished.outcome, Ok(Some("done".to_owned())));
    assert_eq!(finished.logs.len() + finished.omitted_logs, 2000);
    assert!(finished.logs.len() < 300 && finished.logs.len() > 200, "{}", finished.logs.len());
}

#[tokio::test]
async fn many_items_take_one_run_and_their_calls_run_at_once() {
    let tools = Tools::default();
    let code = "const ids = Array.from({length: 50}, (_, id) => id);
        const items = await Promise.all(ids.map((id) => tools.test.echo({id})));
        await Promise.all(ids.map(() => tools.test.slow({ms: 20})));
        return items.filter((item) => item.id % 10 === 0).map((item) => item.id);";
    let finished = run_with(&tools, code).await;
    assert_eq!(finished.outcome, Ok(Some("[0,10,20,30,40]".to_owned())));
    assert_eq!(finished.calls, 100);
    let most = tools.most_at_once.load(Ordering::Relaxed);
    assert!((8..=16).contains(&most), "{most} at once");
}

#[tokio::test]
async fn calls_that_are_not_awaited_are_made_and_their_failures_are_logged() {
    let tools = Tools::default();
    let finished = run_with(&tools, "tools.test.slow(); tools.test.fail(); 'done'").await;
    assert_eq!(finished.outcome, Ok(Some("done".to_owned())));
    assert_eq!(tools.cancelled.load(Ordering::Relaxed), 0);
    assert!(finished.logs[0].contains("the disk is full"), "{finished:?}");
}

#[tokio::test]
async fn timers_run() {
    let code = "let order = []; setTimeout(() => order.push('b'), 30); const c = setTimeout(() => order.push('x'), 1); clearTimeout(c);
        setTimeout((x) => order.push(x), 1, 'a'); await new Promise((done) => setTimeout(done, 60)); order.join('')";
    assert_eq!(value(code).await, "ab");
}

#[tokio::test]
async fn a_run_that_is_dropped_cancels_its_calls() {
    let tools = Tools::default();
    let runner = runner();
    let run = runner.run("await tools.test.slow({ms: 60000})", Duration::from_secs(60), &tools);
    let started = async {
        while tools.calls.lock().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        finished = run => panic!("{finished:?}"),
        () = started => {}
    }
    assert_eq!(tools.cancelled.load(Ordering::Relaxed), 1);
}
