//! What code must not be able to do.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use tokio_util::task::TaskTracker;
use toolbay_code::{CodeError, CodeOptions, CodeRunner};
use toolbay_sandbox::Level;

use crate::tools::{Tools, failure, levels, options, run, run_with, runner, value};

/// Runs code for a moment, and returns why it ended.
async fn ended(code: &str, timeout: Duration) -> (String, Duration) {
    let tasks = TaskTracker::new();
    let runner = CodeRunner::new(options(), tasks.clone());
    let begun = Instant::now();
    let finished = runner.run(code, timeout, &Tools::default()).await.unwrap();
    let took = begun.elapsed();
    tasks.close();
    // The task that watches a process ends with it. The process that is ready for the next run ends with the runner.
    drop(runner);
    tokio::time::timeout(Duration::from_secs(5), tasks.wait()).await.expect("the process ends");
    (finished.outcome.unwrap_err(), took)
}

#[tokio::test]
async fn endless_code_is_ended() {
    let endless = [
        "for (;;) {}",
        "while (true) await null",
        "const next = () => Promise.resolve().then(next); await next()",
        "/(a+)+$/.test('a'.repeat(60) + 'b')",
        "for (;;) console.log('x')",
        "for (;;) { try { null.x } catch {} }",
        "await tools.test.slow({ms: 60000})",
        "await new Promise((done) => setTimeout(done, 60000))",
    ];
    let runs = endless.map(|code| ended(code, Duration::from_secs(1)));
    for (code, (said, took)) in endless.into_iter().zip(join_all(runs).await) {
        assert!(said.contains("timed out after 1000 ms"), "{code}: {said}");
        assert!(took < Duration::from_secs(4), "{code}: {took:?}");
    }
}

#[tokio::test]
async fn code_that_takes_memory_is_ended() {
    let codes = [
        "const all = []; for (;;) all.push(new Array(100000).fill(1.5))",
        "let text = 'x'; for (;;) text += text",
        "new Uint8Array(1e9)",
        "const all = []; for (;;) all.push(new ArrayBuffer(1 << 20))",
        "const all = {}; for (let i = 0;; i++) all['key' + i] = i",
        "'x'.repeat(1 << 29)",
        "const all = []; for (;;) { all.push(() => all); all.push(Symbol()) }",
        "JSON.stringify(Array(1e6).fill('x'.repeat(100)))",
    ];
    let runs = codes.map(|code| ended(code, Duration::from_secs(20)));
    for (code, (said, took)) in codes.into_iter().zip(join_all(runs).await) {
        eprintln!("{code}: {took:?}, {}", said.trim());
        let is_contained = ["memory", "too long", "invalid"].iter().any(|word| said.contains(word));
        assert!(is_contained, "{code}: {said}");
    }
}

#[tokio::test]
async fn deep_recursion_is_an_exception() {
    for code in [
        "const f = () => f() + 1; f()",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a)",
        "JSON.parse('['.repeat(1e6))",
        "eval('('.repeat(1e5))",
        "new RegExp('('.repeat(1e5) + ')'.repeat(1e5))",
        "const o = {}; o.toString = () => `${o}`; `${o}`",
    ] {
        let said = failure(code).await;
        assert!(!said.contains("process of the code ended"), "{code}: {said}");
    }
    assert_eq!(
        value("const f = () => f(); try { f() } catch (error) { return error instanceof Error }").await,
        "true"
    );
}

#[tokio::test]
async fn nothing_of_the_machine_can_be_reached() {
    let names = "['require', 'process', 'std', 'os', 'fetch', 'XMLHttpRequest', 'WebSocket', 'Deno', 'Bun', 'Worker', 'open', 'scriptArgs', 'print', 'importScripts', 'navigator', 'bjson', 'gc', 'WebAssembly']";
    assert_eq!(value(&format!("{names}.filter((name) => name in globalThis)")).await, "[]");
    for code in [
        "await import('fs')",
        "await import('std')",
        "await import('/etc/passwd')",
        "import fs from 'fs'; fs",
        "new Function('return process')()",
        "(0, eval)('require(\"fs\")')",
    ] {
        let said = failure(code).await;
        assert!(!said.contains("root:"), "{code}: {said}");
    }
    assert_eq!(
        value("new Date().getTimezoneOffset()").await,
        "0",
        "the time zone of the machine is not known"
    );
}

#[tokio::test]
async fn changed_prototypes_harm_only_the_code_that_changed_them() {
    let tools = Tools::default();
    let code = r#"
        Object.prototype.isError = true;
        Object.prototype.structuredContent = "stolen";
        Object.prototype.server = "other";
        Object.prototype.get = () => { throw 1 };
        Array.prototype.push = () => { throw 1 };
        Array.isArray = () => false;
        Promise.prototype.then = new Proxy(Promise.prototype.then, {});
        String.prototype.startsWith = () => true;
        JSON.parse = () => ({ structuredContent: "stolen" });
        JSON.stringify = () => '{"stolen":1}';
        Proxy = function () { throw 1 };
        globalThis.Promise = undefined;
        try { tools.test = {}; } catch {}
        try { tools.test.echo = () => "stolen"; } catch {}
        try { Object.defineProperty(tools, "test", { value: 1 }); } catch {}
        try { console.log = () => {}; } catch {}
        const result = await tools.test.echo({ a: 1 });
        console.log("logged");
        const text = await call("text");
        return result.a + text;
    "#;
    let finished = run_with(&tools, code).await;
    assert_eq!(finished.outcome, Ok(Some("1some text".to_owned())), "{finished:?}");
    assert_eq!(finished.logs, ["logged"]);
    assert_eq!(&*tools.calls.lock()[0].arguments, r#"{"a":1}"#);
    assert_eq!(tools.calls.lock()[0].server.as_deref(), Some("test"));
    // `__proto__` in a result is a field as any other.
    let code = "const value = await call('echo', JSON.parse('{\"__proto__\": {\"polluted\": 1}}')); [({}).polluted === undefined, Object.keys(value)]";
    assert_eq!(value(code).await, r#"[true,["__proto__"]]"#);
}

#[tokio::test]
async fn nothing_of_a_run_is_left_for_the_next() {
    let runner = runner();
    let tools = Tools::default();
    let run = |code: &'static str| runner.run(code, Duration::from_secs(10), &tools);
    let first =
        run("globalThis.secret = 'x'; Object.prototype.secret = 'x'; Symbol.for('secret'); 1").await.unwrap();
    assert_eq!(first.outcome, Ok(Some("1".to_owned())));
    let second = run("[typeof secret, ({}).secret === undefined]").await.unwrap();
    assert_eq!(second.outcome, Ok(Some(r#"["undefined",true]"#.to_owned())));
}

#[tokio::test]
async fn calls_timers_and_results_have_limits() {
    let tools = Tools::default();
    let finished = run_with(
        &tools,
        "let n = 0; try { for (;;) { await call('echo'); n++ } } catch (error) { return [n, error.message] }",
    )
    .await;
    assert_eq!(finished.outcome, Ok(Some(r#"[1000,"a run can call at most 1000 tools"]"#.to_owned())));
    let said = failure("for (;;) setTimeout(() => 1, 1000)").await;
    assert!(said.contains("at most 100 timers"), "{said}");
    let said = failure("'x'.repeat(5 << 20)").await;
    assert!(said.contains("the result is too long"), "{said}");
    let said = failure("await call('echo', {text: 'x'.repeat(5 << 20)})").await;
    assert!(said.contains("are too long"), "{said}");
    assert_eq!(tools.cancelled.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn runs_at_once_have_a_limit() {
    let runner = CodeRunner::new(CodeOptions { max_runs: 1, ..options() }, TaskTracker::new());
    let tools = Tools::default();
    let first = runner.run("await tools.test.slow({ms: 300}); 1", Duration::from_secs(10), &tools);
    let second = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        runner.run("2", Duration::from_secs(10), &tools).await
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first.unwrap().outcome, Ok(Some("1".to_owned())));
    assert!(matches!(second, Err(CodeError::Busy { max_runs: 1 })), "{second:?}");
    assert!(run("3").await.outcome.is_ok());
}

#[tokio::test]
async fn code_runs_at_every_level_that_is_allowed_and_at_no_lower_one() {
    for level in levels() {
        let runner = CodeRunner::new(CodeOptions { sandbox: level, ..options() }, TaskTracker::new());
        let finished = runner.run("1 + 1", Duration::from_secs(10), &Tools::default()).await.unwrap();
        assert_eq!(finished.outcome, Ok(Some("2".to_owned())), "{level}");
    }
    // A helper that cannot build a sandbox stands for a system without one.
    let helper = toolbay_sandbox::Helper::program("/bin/false");
    let runner =
        CodeRunner::new(CodeOptions { sandbox: Level::Full, helper, ..options() }, TaskTracker::new());
    let refused = runner.run("1", Duration::from_secs(10), &Tools::default()).await.unwrap_err();
    assert!(matches!(refused, CodeError::Sandbox { found: Level::None, .. }), "{refused:?}");
    assert!(refused.to_string().contains("nothing was run: this system has no full sandbox"), "{refused}");
}

/// The bound is far above what a quiet machine takes: `cargo xtask verify code` measures it.
#[tokio::test]
async fn an_empty_run_is_short_and_a_process_is_ready_for_the_next() {
    let runner = runner();
    let tools = Tools::default();
    let mut times = Vec::new();
    for _ in 0..10 {
        let begun = Instant::now();
        runner.run("", Duration::from_secs(10), &tools).await.unwrap();
        times.push(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    eprintln!("{times:?}");
    times.sort();
    assert!(times[0] < Duration::from_millis(20), "{times:?}");
}
