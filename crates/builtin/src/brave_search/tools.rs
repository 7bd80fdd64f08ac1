//! The tools.

use std::{sync::Arc, time::Duration};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use toolbay_server::{Annotations, Tool, ToolContext, ToolOutput, ToolResult, Toolset, limit};

use super::{
    api::{Api, ApiError},
    arguments::{
        ArticleSearch, ImageSearch, LlmContext, PlaceSearch, Summarize, VideoSearch, WebSearch, descriptions,
        shorten,
    },
    results::{self, Fields},
};

/// The names of all tools, in the order of the published server.
pub(super) const NAMES: [&str; 8] = [
    "brave_web_search",
    "brave_local_search",
    "brave_video_search",
    "brave_image_search",
    "brave_news_search",
    "brave_summarizer",
    "brave_llm_context",
    "brave_place_search",
];

/// The most bytes of a result.
const MAX_OUTPUT: usize = 256 * 1024;
/// How long a summary is waited for.
const SUMMARY_WAIT: Duration = Duration::from_secs(20);

const SEARCHES: Annotations =
    Annotations { read_only: Some(true), destructive: None, idempotent: None, open_world: Some(true) };

pub(super) fn toolset(is_wanted: impl Fn(&str) -> bool) -> Toolset<Api> {
    let tools = [
        Tool::new("brave_web_search", web_search)
            .title("Brave Web Search")
            .description("Search the web. Returns one JSON object per result."),
        Tool::new("brave_local_search", local_search)
            .title("Brave Local Search")
            .description(
                "Search for businesses and places, with hours and ratings. Returns web results if there are none. \
                 Needs a Pro plan.",
            )
            .edit_input_schema(without_descriptions),
        Tool::new("brave_video_search", video_search)
            .title("Brave Video Search")
            .description("Search for videos."),
        Tool::new("brave_image_search", image_search)
            .title("Brave Image Search")
            .description("Search for images."),
        Tool::new("brave_news_search", news_search)
            .title("Brave News Search")
            .description("Search for news. Cite sources as links."),
        Tool::new("brave_summarizer", summarizer)
            .title("Brave Summarizer")
            .description("Get a summary of web results by its key. Needs a Pro AI plan."),
        Tool::new("brave_llm_context", llm_context)
            .title("Brave LLM Context")
            .description("Search the web and get the relevant contents of pages. Cite the URLs in `sources`."),
        Tool::new("brave_place_search", place_search)
            .title("Brave Place Search")
            .description("Search for places, cities, addresses and streets near coordinates or a location."),
    ];
    let tools = tools.into_iter().filter(|tool| is_wanted(tool.name()));
    Toolset::new(tools.map(|tool| {
        let fields: &[(&str, &str)] = match tool.name() {
            "brave_image_search" => &[
                ("type", "string"),
                ("items", "array"),
                ("count", "integer"),
                ("might_be_offensive", "boolean"),
            ],
            "brave_summarizer" => &[("summary", "string")],
            "brave_llm_context" => &[("grounding", "object"), ("sources", "object")],
            "brave_place_search" => &[],
            _ => &[("results", "array")],
        };
        let properties: Value = fields.iter().map(|(name, kind)| (*name, json!({ "type": kind }))).collect();
        let schema = json!({ "type": "object", "properties": properties });
        tool.edit_input_schema(shorten).output_schema(schema).annotations(SEARCHES)
    }))
}

/// The arguments are described once, by `brave_web_search`.
fn without_descriptions(schema: &mut Value) {
    for property in schema["properties"].as_object_mut().into_iter().flat_map(|all| all.values_mut()) {
        property.as_object_mut().map(|property| property.remove("description"));
    }
}

async fn web_search(api: Arc<Api>, arguments: WebSearch, context: ToolContext) -> ToolResult {
    let response: Fields = api.get(&arguments.request()?, &context).await?;
    let mut texts = Vec::new();
    if response.get("summarizer").is_some_and(|key| key.get() != "null") {
        let key: Option<String> = response.object("summarizer").read("key");
        texts.push(format!("Summarizer key: {}", key.as_deref().unwrap_or("undefined")));
    }
    let found = results::web_results(&response)?;
    if found.is_empty() {
        texts.push("No web results found".to_owned());
        return Ok(listed(texts).as_error());
    }
    texts.extend(found);
    texts.extend(results::other_results(&response)?);
    Ok(listed(texts))
}

async fn local_search(api: Arc<Api>, arguments: WebSearch, context: ToolContext) -> ToolResult {
    /// The API describes so many places at once.
    const MAX_PLACES: usize = 20;
    let response: Fields = api.get(&arguments.local_request()?, &context).await?;
    let locations = response.object("locations").list("results")?;
    let ids: Vec<String> = locations.iter().filter_map(|place| place.read("id")).take(MAX_PLACES).collect();
    if ids.is_empty() {
        let found = results::web_results(&response)?;
        let text = match found.is_empty() {
            true => {
                "No location data was returned. User's plan does not support local search, or the query may be unclear."
            }
            false => {
                "No location data was returned. Either the user's plan does not support local search, or the API was unable to find locations for the provided query. Falling back to general web search."
            }
        };
        return Ok(listed([vec![text.to_owned()], found].concat()));
    }
    // Places without descriptions are better than none.
    let described: Result<Fields, ApiError> = api.get(&descriptions(ids.into_iter()), &context).await;
    let (descriptions, failure) = match described.and_then(|response| response.list("results")) {
        Ok(descriptions) => (descriptions, None),
        Err(error) => (Vec::new(), Some(format!("Descriptions are not available: {error}"))),
    };
    let mut texts = Vec::new();
    for location in &locations {
        let id: Option<String> = location.read("id");
        let description = descriptions.iter().find(|description| description.read("id") == id);
        texts.push(results::place(
            location,
            description.and_then(|description| description.get("description")),
        )?);
    }
    texts.extend(failure);
    Ok(listed(texts))
}

async fn video_search(api: Arc<Api>, arguments: VideoSearch, context: ToolContext) -> ToolResult {
    let response: Fields = api.get(&arguments.request()?, &context).await?;
    Ok(listed(response.list("results")?.iter().map(results::video).collect()))
}

async fn news_search(api: Arc<Api>, arguments: ArticleSearch, context: ToolContext) -> ToolResult {
    let response: Fields = api.get(&arguments.request()?, &context).await?;
    Ok(listed(response.list("results")?.iter().map(results::news).collect()))
}

async fn image_search(api: Arc<Api>, arguments: ImageSearch, context: ToolContext) -> ToolResult {
    let response: Fields = api.get(&arguments.request()?, &context).await?;
    let mut items: Vec<String> = response.list("results")?.iter().filter_map(results::image).collect();
    items.truncate(limit::leading(&items, MAX_OUTPUT, String::len));
    let offensive: bool = response.object("extra").read("might_be_offensive").unwrap_or_default();
    let text = format!(
        r#"{{"type":"object","items":[{}],"count":{},"might_be_offensive":{offensive}}}"#,
        items.join(","),
        items.len()
    );
    whole(text)
}

async fn summarizer(api: Arc<Api>, arguments: Summarize, context: ToolContext) -> ToolResult {
    const FAILED: &str = "Unable to retrieve a Summarizer summary.";
    let request = arguments.request()?;
    let (begun, mut pause) = (Instant::now(), Duration::from_millis(100));
    loop {
        let response: Result<Fields, ApiError> = api.get_uncached(&request, &context).await;
        match response {
            Ok(response) if response.read::<String>("status").as_deref() == Some("complete") => {
                let summary = results::summary(&response)?;
                if response.list("summary")?.is_empty() {
                    return Ok(ToolOutput::text(FAILED).as_error());
                }
                return Ok(ToolOutput::text(summary.as_str()).with_structured(&json!({ "summary": summary })));
            }
            Ok(_) if begun.elapsed() + pause > SUMMARY_WAIT => {
                let reason = format!("It was not complete after {} seconds.", SUMMARY_WAIT.as_secs());
                return Ok(ToolOutput::text(FAILED).and_text(reason).as_error());
            }
            Ok(_) => sleep(pause).await,
            Err(error) => return Ok(ToolOutput::text(FAILED).and_text(error.to_string()).as_error()),
        }
        pause = (pause * 2).min(Duration::from_secs(2));
    }
}

async fn llm_context(api: Arc<Api>, arguments: LlmContext, context: ToolContext) -> ToolResult {
    let response: Fields = api.get(&arguments.request()?, &context).await?;
    whole(results::llm_context(&response)?)
}

async fn place_search(api: Arc<Api>, arguments: PlaceSearch, context: ToolContext) -> ToolResult {
    let response = api.get_bytes(&arguments.request()?, &context).await?;
    whole(results::compact(&String::from_utf8_lossy(&response)))
}

/// One block for each text, as many as fit.
fn listed(mut texts: Vec<String>) -> ToolOutput {
    #[derive(Serialize)]
    struct Results {
        results: Vec<Value>,
    }
    let total = texts.len();
    texts.truncate(limit::leading(&texts, MAX_OUTPUT, String::len));
    if texts.len() < total {
        texts.push(format!("[{} of {total} results; lower `count` to see others]", texts.len()));
    }
    // Notes among the results are texts, results are objects.
    let value = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()));
    let results = Results { results: texts.iter().map(value).collect() };
    texts.into_iter().fold(ToolOutput::default(), ToolOutput::and_text).with_structured(&results)
}

/// A JSON object that is both the text and the structured content.
fn whole(text: String) -> ToolResult {
    if text.len() > MAX_OUTPUT {
        let reason = format!(
            "it has {} bytes, and at most {MAX_OUTPUT} are shown; lower `count` or other limits",
            text.len()
        );
        return Err(ApiError::Malformed { reason }.into());
    }
    let value: Value =
        serde_json::from_str(&text).map_err(|error| ApiError::Malformed { reason: error.to_string() })?;
    if !value.is_object() {
        return Err(ApiError::Malformed { reason: "it is no JSON object".to_owned() }.into());
    }
    Ok(ToolOutput::text(text).with_structured(&value))
}
