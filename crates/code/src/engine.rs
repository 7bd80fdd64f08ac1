//! The engine: runs code, in a process that the sandbox has confined before.
//!
//! Nothing here protects the hub; the sandbox and the runner do that. It keeps code from breaking its own bindings by accident, and
//! says what it did wrong in words that a model can use.

mod calls;

use std::{
    io::{self, BufRead, Write},
    rc::Rc,
};

use rquickjs::{
    CatchResultExt, CaughtError, Context, Ctx, Function, Object, Promise, Runtime, Value,
    context::EvalOptions, promise::PromiseState,
};

use self::calls::Calls;
use crate::{
    ENGINE,
    messages::{FromEngine, MAX_LINE, ToEngine, line},
};

/// Bytes that objects of the code may take: less than the process may use, so that the code gets an exception it can understand.
const HEAP: usize = 48 << 20;
/// Bytes of the stack. The kernel gives a process at least as much, unless it is set up unusually.
const STACK: usize = 512 << 10;
/// The bindings of the code: `tools`, `call`, `console` and timers.
const PRELUDE: &str = include_str!("engine/prelude.js");
/// What stack traces call the code.
const FILE: &str = "code.js";

/// The engine as a function for the sandbox: see [`toolbay_sandbox::run_functions_if_asked`].
pub fn function() -> toolbay_sandbox::Function {
    toolbay_sandbox::Function { name: ENGINE, run }
}

fn run() -> u8 {
    match converse() {
        Ok(()) => 0,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            1
        }
    }
}

/// Reads code, runs it and says what it came to.
fn converse() -> io::Result<()> {
    let broken = |error: rquickjs::Error| io::Error::other(error.to_string());
    let runtime = Runtime::new().map_err(broken)?;
    runtime.set_memory_limit(HEAP);
    runtime.set_max_stack_size(STACK);
    let context = Context::full(&runtime).map_err(broken)?;
    context.with(|ctx| {
        let calls = Rc::new(Calls::default());
        // Before the code is there, so that a process that waits for it has done this already.
        let bindings = Bindings::new(&ctx, &calls).map_err(broken)?;
        let mut input = io::stdin().lock();
        let mut buffer = String::new();
        input.read_line(&mut buffer)?;
        let Ok(ToEngine::Run(code)) = serde_json::from_str(&buffer) else {
            return Ok(()); // The runner needs this process no more.
        };
        let code = code.into_owned();
        let last = match bindings.run(&ctx, &code, &calls, &mut input) {
            Ok(value) if value.as_ref().is_some_and(|value| value.len() > MAX_LINE / 2) => {
                FromEngine::Threw("the result is too long; return less of it".into())
            }
            Ok(value) => FromEngine::Returned(value.map(Into::into)),
            Err(message) => FromEngine::Threw(message.into()),
        };
        send(&last);
        // Nothing is left to do, and the kernel frees memory faster.
        std::process::exit(0);
    })
}

/// Sends a message. Without a reader there is nothing left to do.
fn send(message: &FromEngine<'_>) {
    if io::stdout().write_all(&line(message)).and_then(|()| io::stdout().flush()).is_err() {
        std::process::exit(1);
    }
}

/// What of the prelude is called from here.
struct Bindings<'js> {
    /// Gives a call its result, or a timer its end.
    settle: Function<'js>,
    /// A value as text.
    show: Function<'js>,
    /// Calls a function that code came to.
    finish: Function<'js>,
}

impl<'js> Bindings<'js> {
    fn new(ctx: &Ctx<'js>, calls: &Rc<Calls>) -> rquickjs::Result<Self> {
        let native = Object::new(ctx.clone())?;
        let state = calls.clone();
        native.set(
            "call",
            Function::new(
                ctx.clone(),
                move |ctx: Ctx<'js>, server: Option<String>, name: String, arguments: String| {
                    state.call(server, name, arguments).map_err(|message| throw(&ctx, message))
                },
            )?,
        )?;
        let state = calls.clone();
        native.set(
            "sleep",
            Function::new(ctx.clone(), move |ctx: Ctx<'js>, milliseconds: f64| {
                state.sleep(milliseconds).map_err(|message| throw(&ctx, message))
            })?,
        )?;
        native.set("log", Function::new(ctx.clone(), |text: String| log(&text))?)?;
        let prelude: Function<'js> = ctx.eval_with_options(PRELUDE, options("bindings.js"))?;
        let bindings: Object<'js> = prelude.call((native,))?;
        Ok(Self {
            settle: bindings.get("settle")?,
            show: bindings.get("show")?,
            finish: bindings.get("finish")?,
        })
    }

    /// Runs code to its end.
    fn run(
        &self,
        ctx: &Ctx<'js>,
        code: &str,
        calls: &Calls,
        input: &mut impl BufRead,
    ) -> Result<Option<String>, String> {
        let promise = self.evaluate(ctx, code)?;
        self.wait(ctx, &promise, calls, input)?;
        let outcome: rquickjs::Result<Value<'js>> =
            promise.result().unwrap_or(Err(rquickjs::Error::WouldBlock));
        let value = outcome.catch(ctx).map_err(|error| self.explain(error))?;
        // Calls that the code has not waited for are made all the same.
        while calls.are_running() {
            let (id, failure) = self.receive(ctx, calls, input)?;
            if let Some(failure) = failure {
                log(&format!("call {id}, which was not awaited, failed: {failure}"));
            }
            while ctx.execute_pending_job() {}
        }
        let shown: rquickjs::Result<Option<String>> = self.show.call((value,));
        shown.catch(ctx).map_err(|error| self.explain(error))
    }

    /// Starts the code, whose value is that of its last expression, or what it returns.
    fn evaluate(&self, ctx: &Ctx<'js>, code: &str) -> Result<Promise<'js>, String> {
        let script: rquickjs::Result<Value<'js>> = ctx.eval_with_options(code, options(FILE));
        let (started, is_script) = match script.catch(ctx) {
            // `return` is only allowed in a function.
            Err(CaughtError::Exception(exception))
                if exception
                    .message()
                    .is_some_and(|message| message.contains("return not in a function")) =>
            {
                let body = format!("(async () => {{{code}\n}})()");
                let mut options = options(FILE);
                options.promise = false;
                let called: rquickjs::Result<Value<'js>> = ctx.eval_with_options(body, options);
                (called.catch(ctx), false)
            }
            started => (started, true),
        };
        let started = started.map_err(|error| self.explain(error))?;
        let finished: rquickjs::Result<Promise<'js>> = self.finish.call((started, is_script));
        finished.catch(ctx).map_err(|error| self.explain(error))
    }

    /// Waits until a promise is settled.
    fn wait(
        &self,
        ctx: &Ctx<'js>,
        promise: &Promise<'js>,
        calls: &Calls,
        input: &mut impl BufRead,
    ) -> Result<(), String> {
        loop {
            while ctx.execute_pending_job() {}
            if promise.state() != PromiseState::Pending {
                return Ok(());
            }
            if !calls.are_running() && !calls.has_timers() {
                return Err("the code waits for a promise that nothing resolves".to_owned());
            }
            self.receive(ctx, calls, input)?;
        }
    }

    /// Waits for the end of a call or a timer. Returns its id, and why it failed if it did.
    fn receive(
        &self,
        ctx: &Ctx<'js>,
        calls: &Calls,
        input: &mut impl BufRead,
    ) -> Result<(u64, Option<String>), String> {
        let mut buffer = String::new();
        if input.read_line(&mut buffer).unwrap_or(0) == 0 {
            std::process::exit(1);
        }
        let message = serde_json::from_str(&buffer).map_err(|error| error.to_string())?;
        let (id, result, failure) = match message {
            ToEngine::Result { id, result } => (id, Some(result.get()), None),
            ToEngine::Failed { id, message } => (id, None, Some(message)),
            ToEngine::Elapsed { id } => {
                calls.timer_ended();
                (id, None, None)
            }
            ToEngine::Run(_) => return Err("code came twice".to_owned()),
        };
        if result.is_some() || failure.is_some() {
            calls.call_ended();
        }
        let failed: rquickjs::Result<Option<String>> = self.settle.call((id, result, failure.as_deref()));
        Ok((id, failed.catch(ctx).map_err(|error| self.explain(error))?))
    }

    /// An exception in words.
    fn explain(&self, error: CaughtError<'js>) -> String {
        let value = match error {
            CaughtError::Exception(exception) => exception.into_value(),
            CaughtError::Value(value) => value,
            CaughtError::Error(rquickjs::Error::Allocation) => return "out of memory".to_owned(),
            CaughtError::Error(error) => return error.to_string(),
        };
        // The code may have changed what its exceptions say of themselves.
        let shown: rquickjs::Result<Option<String>> = self.show.call((value,));
        shown.ok().flatten().unwrap_or_else(|| "an exception that cannot be shown".to_owned())
    }
}

fn options(file: &str) -> EvalOptions {
    let mut options = EvalOptions::default();
    // Only of the code, which others write as they are used to.
    (options.promise, options.strict) = (file == FILE, file != FILE);
    options.filename = Some(file.to_owned());
    options
}

fn throw(ctx: &Ctx<'_>, message: String) -> rquickjs::Error {
    rquickjs::Exception::throw_range(ctx, &message)
}

/// Sends a line of the log, or its beginning.
fn log(text: &str) {
    const MAX: usize = 64 << 10;
    if text.len() <= MAX {
        return send(&FromEngine::Log(text.into()));
    }
    let end = text.floor_char_boundary(MAX);
    send(&FromEngine::Log(format!("{}… ({} more bytes)", &text[..end], text.len() - end).into()));
}
