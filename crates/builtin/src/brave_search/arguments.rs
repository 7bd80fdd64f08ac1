//! The arguments of the tools, and the requests that they make.
//!
//! Most arguments are parameters of the API by the same name, so a request is made from the arguments as they are serialized.
//! Descriptions are short and lists of countries and languages are patterns: models know the codes, and every definition is
//! part of every conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolbay_server::ToolError;

use super::{api::ApiRequest, results::plain_number};

/// The arguments of `brave_web_search` and `brave_local_search`.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
pub(super) struct WebSearch {
    /// At most 50 words
    #[schemars(length(max = 400))]
    query: String,
    #[schemars(regex(pattern = "^([A-Z]{2}|ALL)$"))]
    country: Option<String>,
    #[schemars(regex(pattern = "^[a-z]{2}(-[a-z]+)?$"))]
    search_lang: Option<String>,
    #[schemars(regex(pattern = "^[a-z]{2}-[A-Z]{2}$"))]
    ui_lang: Option<String>,
    #[schemars(range(min = 1, max = 20))]
    count: Option<u32>,
    /// Pages to skip
    #[schemars(range(max = 9))]
    offset: Option<u32>,
    safesearch: Option<SafeSearch>,
    #[schemars(regex(pattern = "^(p[dwmy]|[0-9-]{10}to[0-9-]{10})$"))]
    freshness: Option<String>,
    text_decorations: Option<bool>,
    spellcheck: Option<bool>,
    /// Kinds of results (default: web, query)
    result_filter: Option<Vec<ResultKind>>,
    /// URLs or definitions for re-ranking
    goggles: Option<Goggles>,
    units: Option<Units>,
    extra_snippets: Option<bool>,
    /// Get a key for brave_summarizer
    summary: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SafeSearch {
    Off,
    Moderate,
    Strict,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ResultKind {
    Discussions,
    Faq,
    Infobox,
    News,
    Query,
    Summarizer,
    Videos,
    Web,
    Locations,
    Rich,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Units {
    Metric,
    Imperial,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum Goggles {
    One(String),
    Several(Vec<String>),
}

impl JsonSchema for Goggles {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Goggles".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "array"], "items": { "type": "string" } })
    }
}

/// What the published server sends where an argument is left out.
const WEB_DEFAULTS: [(&str, &str); 8] = [
    ("country", "US"),
    ("search_lang", "en"),
    ("ui_lang", "en-US"),
    ("count", "10"),
    ("offset", "0"),
    ("safesearch", "moderate"),
    ("text_decorations", "true"),
    ("spellcheck", "true"),
];

impl WebSearch {
    pub(super) fn request(mut self) -> Result<ApiRequest, ToolError> {
        self.result_filter.get_or_insert_with(|| vec![ResultKind::Web, ResultKind::Query]);
        request("web/search", &self, &WEB_DEFAULTS)
    }

    /// The search that also finds places.
    pub(super) fn local_request(mut self) -> Result<ApiRequest, ToolError> {
        let kinds = self.result_filter.get_or_insert_with(|| vec![ResultKind::Web, ResultKind::Query]);
        kinds.extend([ResultKind::Web, ResultKind::Locations]);
        self.request()
    }
}

/// The arguments of `brave_image_search`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub(super) struct ImageSearch {
    #[schemars(length(min = 1, max = 400))]
    query: String,
    country: Option<String>,
    search_lang: Option<String>,
    #[schemars(range(min = 1, max = 200))]
    count: Option<u32>,
    safesearch: Option<ImageSafeSearch>,
    spellcheck: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ImageSafeSearch {
    Off,
    Strict,
}

impl ImageSearch {
    pub(super) fn request(self) -> Result<ApiRequest, ToolError> {
        const DEFAULTS: [(&str, &str); 5] = [
            ("country", "US"),
            ("search_lang", "en"),
            ("count", "50"),
            ("safesearch", "strict"),
            ("spellcheck", "true"),
        ];
        request("images/search", &self, &DEFAULTS)
    }
}

/// The arguments of `brave_video_search`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub(super) struct VideoSearch {
    #[schemars(length(min = 1, max = 400))]
    query: String,
    country: Option<String>,
    search_lang: Option<String>,
    ui_lang: Option<String>,
    #[schemars(range(min = 1, max = 50))]
    count: Option<u32>,
    #[schemars(range(max = 9))]
    offset: Option<u32>,
    spellcheck: Option<bool>,
    safesearch: Option<SafeSearch>,
    #[schemars(regex(pattern = "^(p[dwmy]|[0-9-]{10}to[0-9-]{10})$"))]
    freshness: Option<String>,
}

const MEDIA_DEFAULTS: [(&str, &str); 7] = [
    ("country", "US"),
    ("search_lang", "en"),
    ("ui_lang", "en-US"),
    ("count", "20"),
    ("offset", "0"),
    ("spellcheck", "true"),
    ("safesearch", "moderate"),
];

impl VideoSearch {
    pub(super) fn request(self) -> Result<ApiRequest, ToolError> {
        request("videos/search", &self, &MEDIA_DEFAULTS)
    }
}

/// The arguments of `brave_news_search`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub(super) struct ArticleSearch {
    #[schemars(length(max = 400))]
    query: String,
    country: Option<String>,
    search_lang: Option<String>,
    ui_lang: Option<String>,
    #[schemars(range(min = 1, max = 50))]
    count: Option<u32>,
    #[schemars(range(max = 9))]
    offset: Option<u32>,
    spellcheck: Option<bool>,
    safesearch: Option<SafeSearch>,
    #[schemars(regex(pattern = "^(p[dwmy]|[0-9-]{10}to[0-9-]{10})$"))]
    freshness: Option<String>,
    extra_snippets: Option<bool>,
    goggles: Option<Goggles>,
}

impl ArticleSearch {
    pub(super) fn request(mut self) -> Result<ApiRequest, ToolError> {
        self.extra_snippets.get_or_insert(false);
        request("news/search", &self, &MEDIA_DEFAULTS)
    }
}

/// The arguments of `brave_summarizer`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub(super) struct Summarize {
    /// From brave_web_search with summary=true
    key: String,
    entity_info: Option<bool>,
    inline_references: Option<bool>,
}

impl Summarize {
    pub(super) fn request(self) -> Result<ApiRequest, ToolError> {
        request("summarizer/search", &self, &[("entity_info", "false"), ("inline_references", "false")])
    }
}

/// The arguments of `brave_llm_context`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub(super) struct LlmContext {
    /// At most 50 words
    #[schemars(length(min = 1, max = 400))]
    query: String,
    #[schemars(regex(pattern = "^([A-Z]{2}|ALL)$"))]
    country: Option<String>,
    #[schemars(regex(pattern = "^[a-z]{2}(-[a-z]+)?$"))]
    search_lang: Option<String>,
    #[schemars(range(min = 1, max = 50))]
    count: Option<u32>,
    spellcheck: Option<bool>,
    #[schemars(range(min = 1, max = 50))]
    maximum_number_of_urls: Option<u32>,
    #[schemars(range(min = 1024, max = 32_768))]
    maximum_number_of_tokens: Option<u32>,
    #[schemars(range(min = 1, max = 256))]
    maximum_number_of_snippets: Option<u32>,
    context_threshold_mode: Option<ThresholdMode>,
    #[schemars(range(min = 512, max = 8_192))]
    maximum_number_of_tokens_per_url: Option<u32>,
    #[schemars(range(min = 1, max = 100))]
    maximum_number_of_snippets_per_url: Option<u32>,
    goggles: Option<Goggles>,
    #[schemars(regex(pattern = "^(p[dwmy]|[0-9-]{10}to[0-9-]{10})$"))]
    freshness: Option<String>,
    enable_local: Option<bool>,
    enable_source_metadata: Option<bool>,
    #[serde(rename = "x-loc-lat")]
    #[schemars(range(min = -90, max = 90))]
    latitude: Option<f64>,
    #[serde(rename = "x-loc-long")]
    #[schemars(range(min = -180, max = 180))]
    longitude: Option<f64>,
    #[serde(rename = "x-loc-city")]
    city: Option<String>,
    #[serde(rename = "x-loc-state")]
    #[schemars(length(max = 3))]
    state: Option<String>,
    #[serde(rename = "x-loc-state-name")]
    state_name: Option<String>,
    #[serde(rename = "x-loc-country")]
    #[schemars(length(equal = 2))]
    client_country: Option<String>,
    #[serde(rename = "x-loc-postal-code")]
    postal_code: Option<String>,
    #[serde(rename = "api-version")]
    api_version: Option<String>,
    accept: Option<String>,
    #[serde(rename = "cache-control")]
    cache_control: Option<String>,
    #[serde(rename = "user-agent")]
    user_agent: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ThresholdMode {
    Disabled,
    Strict,
    Lenient,
    Balanced,
}

impl LlmContext {
    pub(super) fn request(mut self) -> Result<ApiRequest, ToolError> {
        self.query = self.query.trim().to_owned();
        if self.query.is_empty() {
            return Err(ToolError::argument("query", "is empty"));
        }
        request("llm/context", &self, &[])
    }
}

/// The arguments of `brave_place_search`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub(super) struct PlaceSearch {
    /// A kind of place, city, address or street
    #[schemars(length(max = 400))]
    query: Option<String>,
    /// Meters within which results are preferred
    #[schemars(range(min = 0))]
    radius: Option<f64>,
    #[schemars(range(min = 1, max = 50))]
    count: Option<u32>,
    #[schemars(range(min = -90, max = 90))]
    latitude: Option<f64>,
    #[schemars(range(min = -180, max = 180))]
    longitude: Option<f64>,
    /// Such as "san francisco ca united states"
    #[schemars(length(min = 1))]
    location: Option<String>,
    #[schemars(regex(pattern = "^([A-Z]{2}|ALL)$"))]
    country: Option<String>,
    #[schemars(regex(pattern = "^[a-z]{2}(-[a-z]+)?$"))]
    search_lang: Option<String>,
    #[schemars(regex(pattern = "^[a-z]{2}-[A-Z]{2}$"))]
    ui_lang: Option<String>,
    units: Option<Units>,
    safesearch: Option<SafeSearch>,
    spellcheck: Option<bool>,
    geoloc: Option<String>,
    #[serde(rename = "api-version")]
    api_version: Option<String>,
    accept: Option<String>,
    #[serde(rename = "cache-control")]
    cache_control: Option<String>,
    #[serde(rename = "user-agent")]
    user_agent: Option<String>,
}

impl PlaceSearch {
    pub(super) fn request(mut self) -> Result<ApiRequest, ToolError> {
        let trimmed = |text: &Option<String>| text.as_deref().map(str::trim).map(str::to_owned);
        self.query = trimmed(&self.query).filter(|query| !query.is_empty());
        self.location = trimmed(&self.location);
        request("local/place_search", &self, &[])
    }
}

/// The request for descriptions of places.
pub(super) fn descriptions(ids: impl Iterator<Item = String>) -> ApiRequest {
    let parameters = ids.map(|id| ("ids".to_owned(), id)).collect();
    ApiRequest { path: "local/descriptions", parameters, headers: Vec::new() }
}

/// Arguments that are headers.
const HEADERS: [&str; 11] = [
    "x-loc-lat",
    "x-loc-long",
    "x-loc-city",
    "x-loc-state",
    "x-loc-state-name",
    "x-loc-country",
    "x-loc-postal-code",
    "api-version",
    "accept",
    "cache-control",
    "user-agent",
];

/// Shortens a schema for clients: lower bounds, which every model knows, need not be in each conversation. They are checked
/// nevertheless.
pub(super) fn shorten(schema: &mut Value) {
    let Some(properties) = schema["properties"].as_object_mut() else { return };
    for property in properties.values_mut().filter_map(Value::as_object_mut) {
        property.remove("minimum");
        property.remove("minLength");
    }
}

/// Makes a request of arguments, with defaults for those that are left out.
fn request(
    path: &'static str,
    arguments: &impl Serialize,
    defaults: &[(&str, &str)],
) -> Result<ApiRequest, ToolError> {
    let arguments = serde_json::to_value(arguments).map_err(|error| ToolError::failed(error.to_string()))?;
    let Value::Object(arguments) = arguments else { return Err(ToolError::failed("no arguments")) };
    let has_summary = arguments.get("summary") == Some(&Value::Bool(true));
    let mut request = ApiRequest { path, ..ApiRequest::default() };
    for (name, value) in arguments {
        let mut add = |name: &str, value: String| request.parameters.push((name.to_owned(), value));
        match (name.as_str(), value) {
            (_, Value::Null) => {}
            ("query", Value::String(query)) => {
                if query.split_whitespace().count() > 50 {
                    return Err(ToolError::argument("query", "has more than 50 words"));
                }
                add("q", query);
            }
            // With a filter, the API returns either a summary or web results.
            ("result_filter", Value::Array(kinds)) => {
                if !has_summary && !kinds.is_empty() {
                    let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
                    add("result_filter", kinds.join(","));
                }
            }
            ("goggles", Value::Array(goggles)) => {
                let goggles = goggles.iter().filter_map(Value::as_str);
                goggles.filter_map(goggle).for_each(|goggle| add("goggles", goggle.to_owned()));
            }
            ("goggles", Value::String(one)) => {
                goggle(&one).into_iter().for_each(|goggle| add("goggles", goggle.to_owned()));
            }
            (name, value) => {
                let text = match value {
                    Value::String(text) => text,
                    Value::Number(number) => plain_number(&number),
                    other => other.to_string(),
                };
                match HEADERS.iter().find(|header| **header == name) {
                    Some(header) => request.headers.push((header, text)),
                    None => add(name, text),
                }
            }
        }
    }
    for (name, value) in defaults {
        if !request.parameters.iter().any(|(given, _)| given == name) {
            request.parameters.push(((*name).to_owned(), (*value).to_owned()));
        }
    }
    // The same search is the same URL, however it is written. Goggles stay in their order.
    request.parameters.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(request)
}

/// A goggle that can be used: a definition, or a URL with `https`.
fn goggle(text: &str) -> Option<&str> {
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    let is_refused = match lower.strip_prefix("https://") {
        Some(rest) => rest.is_empty(),
        None => lower.starts_with("http://"),
    };
    (!text.is_empty() && !is_refused).then_some(text)
}
