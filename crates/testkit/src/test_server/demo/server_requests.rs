//! Tools, prompts and resources that send requests to their client.

use serde_json::{Value, json};

use super::text_result;
use crate::test_server::{ElicitResult, ServerRequest, TestServer, ToolContext, ToolResult};

pub(super) fn add(server: TestServer) -> TestServer {
    server
        .with_async_tool("elicit", async |args, context: ToolContext| {
            let answer = context.elicit(message(&args, "Who are you?"), form("name")).await?;
            Ok(text_result(&told(&answer, "name")))
        })
        .with_async_tool("elicit_several", async |args, context: ToolContext| {
            let questions = [
                ServerRequest::form(message(&args, "Your name?"), form("name")),
                ServerRequest::form(message(&args, "Your colour?"), form("colour")),
            ];
            let answers = context.send_requests(&questions).await?;
            let told = answers.into_iter().map(ElicitResult::from_answer).zip(["name", "colour"]);
            let told: Vec<String> = told.map(|(answer, field)| self::told(&answer, field)).collect();
            Ok(text_result(&told.join(" and ")))
        })
        .with_async_tool("elicit_rounds", rounds)
        .with_async_tool("elicit_url", async |args, context: ToolContext| {
            let answer = context.elicit_url(message(&args, "Please look at this."), url(&args)).await?;
            Ok(text_result(match answer {
                ElicitResult::Accepted(_) => "visited",
                ElicitResult::Declined => "declined",
                ElicitResult::Cancelled => "cancelled",
            }))
        })
        .with_async_tool("visit", async |args, context: ToolContext| {
            context.visit("Please look at this first.", &url(&args)).await?;
            Ok(text_result("visited"))
        })
        .with_async_tool("sample", async |args, context: ToolContext| {
            let sampled = context.sample(message(&args, "Say something.")).await?;
            Ok(text_result(sampled["content"]["text"].as_str().unwrap_or_default()))
        })
        .with_async_tool("list_roots", async |_, context: ToolContext| {
            Ok(text_result(&context.roots().await?.join(" ")))
        })
        .with_async_tool("ask_everything", async |args, context: ToolContext| {
            let questions = [
                ServerRequest::form(message(&args, "Your name?"), form("name")),
                ServerRequest::sample(message(&args, "Say something.")),
                ServerRequest::roots(),
            ];
            let [form, sampled, roots] = context
                .send_requests(&questions)
                .await?
                .try_into()
                .map_err(|_| "one answer is expected for each question")?;
            let (text, root) = (&sampled["content"]["text"], &roots["roots"][0]["uri"]);
            let parts = [json!(told(&ElicitResult::from_answer(form), "name")), text.clone(), root.clone()];
            Ok(json!({"answers": parts}))
        })
        .with_async_tool("pause", async |_, context: ToolContext| {
            context.pause().await;
            Ok(text_result("back again"))
        })
        .with_async_prompt("interview", async |_, context| {
            let answer = context.elicit("Who are you?", form("name")).await?;
            Ok(json!(format!("Interview {}.", told(&answer, "name"))))
        })
        .with_async_resource("test://asked", async |context| {
            let answer = context.elicit("Who are you?", form("name")).await?;
            Ok(json!(format!("Written for {}.", told(&answer, "name"))))
        })
}

/// Asks `rounds` times, one after the other, and reports progress before each request.
async fn rounds(args: Value, context: ToolContext) -> ToolResult {
    let rounds = args["rounds"].as_u64().unwrap_or(2);
    let mut told = Vec::new();
    for round in 1..=rounds {
        context.progress(round as f64, rounds as f64).await;
        let question = message(&args, &format!("Round {round}?"));
        let answer = context.elicit(question, form("name")).await?;
        told.push(self::told(&answer, "name"));
    }
    Ok(text_result(&told.join(" then ")))
}

/// The request, with the argument `text` in it if there is one, so that a test can identify it.
fn message(args: &Value, question: &str) -> String {
    match args["text"].as_str() {
        Some(text) => format!("{question} {text}"),
        None => question.to_owned(),
    }
}

fn url(args: &Value) -> String {
    args["url"].as_str().unwrap_or("https://toolbay.test/page").to_owned()
}

/// A form with one text.
fn form(field: &str) -> Value {
    json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]})
}

fn told(answer: &ElicitResult, field: &str) -> String {
    match answer {
        ElicitResult::Accepted(content) => content[field].as_str().unwrap_or_default().to_owned(),
        ElicitResult::Declined => "declined".to_owned(),
        ElicitResult::Cancelled => "cancelled".to_owned(),
    }
}
