//! What of a response is shown.
//!
//! Fields are passed on as they came, in the order in which the published server writes them. What is not there is left out;
//! what is `null` stays `null`.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolbay_protocol::ObjectBuilder;

use super::api::ApiError;

/// A JSON object whose fields are not interpreted.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Fields(HashMap<String, Box<RawValue>>);

impl Fields {
    pub(super) fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.get(name).map(|value| &**value)
    }

    /// A field that is an object; empty if it is anything else or not there.
    pub(super) fn object(&self, name: &str) -> Self {
        self.read(name).unwrap_or_default()
    }

    /// A field that is read; nothing if it is of another type or not there.
    pub(super) fn read<T: for<'de> Deserialize<'de>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// A field that is a list of objects; empty if it is `null` or not there.
    pub(super) fn list(&self, name: &str) -> Result<Vec<Self>, ApiError> {
        let Some(list) = self.get(name).filter(|list| list.get() != "null") else { return Ok(Vec::new()) };
        serde_json::from_str(list.get()).map_err(|error| ApiError::Malformed {
            reason: format!("`{name}` is no list of objects: {error}"),
        })
    }

    /// A JSON object with these fields, in this order.
    pub(super) fn pick(&self, names: &[&str]) -> String {
        names.iter().fold(Shown::default(), |shown, name| shown.field(name, self.get(name))).finish()
    }
}

/// A JSON object that is written field by field.
#[derive(Default)]
struct Shown(ObjectBuilder);

impl Shown {
    fn field(self, name: &str, value: Option<&RawValue>) -> Self {
        match value {
            Some(value) => Self(self.0.raw(name, &compact(value.get()))),
            None => self,
        }
    }

    fn finish(self) -> String {
        self.0.finish()
    }
}

/// Writes a JSON text as JavaScript does: without blanks, escapes and zeros that it does not need. The order of fields stays.
pub(super) fn compact(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            '-' | '0'..='9' => rest.find([',', ']', '}', ' ', '\n', '\r', '\t']).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        match first {
            ' ' | '\n' | '\r' | '\t' => {}
            '"' => match serde_json::from_str::<String>(token) {
                Ok(string) => text.push_str(&serde_json::Value::from(string).to_string()),
                Err(_) => text.push_str(token),
            },
            '-' | '0'..='9' => match token.parse::<serde_json::Number>() {
                Ok(number) => text.push_str(&plain_number(&number)),
                Err(_) => text.push_str(token),
            },
            _ => text.push_str(token),
        }
    }
    text
}

/// The length of the string with which a JSON text begins.
fn string_length(json: &str) -> usize {
    let mut is_escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(json.len(), |end| end + 2)
}

/// A number without a fraction that is zero.
pub(super) fn plain_number(number: &serde_json::Number) -> String {
    const EXACT: f64 = 1e15;
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => {
            format!("{float:.0}")
        }
        _ => number.to_string(),
    }
}

/// Web pages of a response of `web/search`.
pub(super) fn web_results(response: &Fields) -> Result<Vec<String>, ApiError> {
    let results = response.object("web").list("results")?;
    Ok(results.iter().map(|result| result.pick(&["url", "title", "description", "extra_snippets"])).collect())
}

/// Everything else in a response of `web/search`.
pub(super) fn other_results(response: &Fields) -> Result<Vec<String>, ApiError> {
    const GOGGLES: &str = "mutated_by_goggles";
    let mut shown = Vec::new();
    for question in response.object("faq").list("results")? {
        shown.push(question.pick(&["question", "answer", "title", "url"]));
    }
    let with_goggles = |list: &Fields| Shown::default().field(GOGGLES, list.get(GOGGLES));
    let discussions = response.object("discussions");
    for result in discussions.list("results")? {
        let text =
            with_goggles(&discussions).field("url", result.get("url")).field("data", result.get("data"));
        shown.push(text.finish());
    }
    let news = response.object("news");
    for result in news.list("results")? {
        let names = ["source", "breaking", "is_live", "age", "url", "title", "description", "extra_snippets"];
        let text = names.iter().fold(with_goggles(&news), |text, name| text.field(name, result.get(name)));
        shown.push(text.finish());
    }
    let videos = response.object("videos");
    for result in videos.list("results")? {
        let (video, thumbnail) = (result.object("video"), result.object("thumbnail"));
        let names = ["url", "title", "description", "age"];
        let text = names.iter().fold(with_goggles(&videos), |text, name| text.field(name, result.get(name)));
        let text = text
            .field("thumbnail_url", thumbnail.get("src"))
            .field("duration", video.get("duration"))
            .field("view_count", video.get("views"))
            .field("creator", video.get("creator"))
            .field("publisher", video.get("publisher"))
            .field("tags", video.get("tags"));
        shown.push(text.finish());
    }
    Ok(shown)
}

/// A place, with its description if there is one.
pub(super) fn place(location: &Fields, description: Option<&RawValue>) -> Result<String, ApiError> {
    let rating = location.object("rating");
    let hours = match location.get("opening_hours") {
        Some(_) => opening_hours(&location.object("opening_hours"))?,
        None => None,
    };
    let shown = Shown::default()
        .field("name", location.get("title"))
        .field("price_range", location.get("price_range"))
        .field("phone", location.object("contact").get("telephone"))
        .field("rating", rating.get("ratingValue"))
        .field("hours", hours.as_deref())
        .field("rating_count", rating.get("reviewCount"))
        .field("description", description)
        .field("address", location.object("postal_address").get("displayAddress"));
    Ok(shown.finish())
}

/// Opening hours by day: `{"today (friday)": "11:00-15:00, 17:00-21:30", …}`.
fn opening_hours(hours: &Fields) -> Result<Option<Box<RawValue>>, ApiError> {
    #[derive(Deserialize)]
    struct Interval {
        full_name: String,
        #[serde(default)]
        opens: String,
        #[serde(default)]
        closes: String,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Day {
        Several(Vec<Interval>),
        One(Interval),
    }
    let mut days: Vec<(String, Vec<String>)> = Vec::new();
    let mut add = |day: String, interval: &Interval| {
        let hours = format!("{}-{}", interval.opens, interval.closes);
        match days.iter_mut().find(|(name, _)| *name == day) {
            Some((_, all)) => all.push(hours),
            None => days.push((day, vec![hours])),
        }
    };
    let today: Vec<Interval> = hours.read("current_day").unwrap_or_default();
    for interval in &today {
        add(format!("today ({})", today[0].full_name.to_lowercase()), interval);
    }
    for day in hours.read::<Vec<Day>>("days").unwrap_or_default() {
        let intervals = match day {
            Day::Several(intervals) => intervals,
            Day::One(interval) => vec![interval],
        };
        for interval in &intervals {
            add(interval.full_name.to_lowercase(), interval);
        }
    }
    if days.is_empty() {
        return Ok(None);
    }
    let shown = days.iter().fold(ObjectBuilder::new(), |shown, (day, hours)| {
        shown.raw(day, &serde_json::Value::from(hours.join(", ")).to_string())
    });
    let text = RawValue::from_string(shown.finish());
    text.map(Some).map_err(|error| ApiError::Malformed { reason: error.to_string() })
}

/// A result of `news/search`.
pub(super) fn news(result: &Fields) -> String {
    let breaking = result.get("breaking").filter(|breaking| breaking.get() != "null");
    let thumbnail = result.object("thumbnail");
    let shown = ["url", "title", "age", "page_age"]
        .iter()
        .fold(Shown::default(), |shown, name| shown.field(name, result.get(name)));
    let shown = Shown(shown.0.raw("breaking", breaking.map_or("false", RawValue::get)));
    shown
        .field("description", result.get("description"))
        .field("extra_snippets", result.get("extra_snippets"))
        .field("thumbnail", thumbnail.get("src"))
        .finish()
}

/// A result of `videos/search`.
pub(super) fn video(result: &Fields) -> String {
    ["url", "title", "description"]
        .iter()
        .fold(Shown::default(), |shown, name| shown.field(name, result.get(name)))
        .field("duration", result.object("video").get("duration"))
        .field("thumbnail_url", result.object("thumbnail").get("src"))
        .finish()
}

/// A result of `images/search`; nothing for one that is incomplete.
pub(super) fn image(result: &Fields) -> Option<String> {
    let properties = result.object("properties");
    let is_url = |url: Option<String>| {
        url.is_some_and(|url| url.parse::<http::Uri>().is_ok_and(|url| url.scheme().is_some()))
    };
    let is_time = |time: Option<String>| time.is_some_and(|time| time.contains('T') && time.ends_with('Z'));
    let is_level = |level: Option<String>| matches!(level.as_deref(), Some("low" | "medium" | "high"));
    let is_length = |length: Option<u64>| length.is_some_and(|length| length > 0);
    let is_complete = result.read::<String>("title").is_some()
        && is_url(result.read("url"))
        && is_time(result.read("page_fetched"))
        && is_level(result.read("confidence"))
        && is_url(properties.read("url"))
        && is_length(properties.read("width"))
        && is_length(properties.read("height"));
    is_complete.then(|| {
        let shown = ["title", "url", "page_fetched", "confidence"]
            .iter()
            .fold(Shown::default(), |shown, name| shown.field(name, result.get(name)));
        shown.0.raw("properties", &properties.pick(&["url", "width", "height"])).finish()
    })
}

/// The response of `llm/context`, without what its contract does not name.
pub(super) fn llm_context(response: &Fields) -> Result<String, ApiError> {
    let grounding = response.object("grounding");
    let page = |result: &Fields| result.pick(&["url", "title", "snippets"]);
    let place = |result: &Fields| result.pick(&["name", "url", "title", "snippets"]);
    let array = |items: Vec<String>| format!("[{}]", items.join(","));
    let mut shown =
        ObjectBuilder::new().raw("generic", &array(grounding.list("generic")?.iter().map(page).collect()));
    match grounding.get("poi") {
        Some(poi) if poi.get() == "null" => shown = shown.raw("poi", "null"),
        Some(_) => shown = shown.raw("poi", &place(&grounding.object("poi"))),
        None => {}
    }
    let shown = shown.raw("map", &array(grounding.list("map")?.iter().map(place).collect())).finish();
    let sources = response.get("sources").map_or_else(|| "{}".to_owned(), |sources| compact(sources.get()));
    Ok(ObjectBuilder::new().raw("grounding", &shown).raw("sources", &sources).finish())
}

/// The text of a summary: its tokens, with references in parentheses.
pub(super) fn summary(response: &Fields) -> Result<String, ApiError> {
    let parts = response.list("summary")?;
    let texts = parts.iter().map(|part| match part.read::<String>("type").as_deref() {
        Some("token") => part.read::<String>("data").unwrap_or_default(),
        Some("inline_reference") => {
            let url: Option<String> = part.object("data").read("url");
            format!(" ({})", url.as_deref().unwrap_or("undefined"))
        }
        _ => String::new(),
    });
    Ok(texts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(json: &str) -> Fields {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn fields_keep_their_order_and_null() {
        let result = fields(r#"{ "title": null, "url": "a", "x": 1, "extra_snippets": [ "b  c", "\" d" ] }"#);
        let shown = result.pick(&["url", "title", "description", "extra_snippets"]);
        assert_eq!(shown, r#"{"url":"a","title":null,"extra_snippets":["b  c","\" d"]}"#);
    }

    #[test]
    fn texts_are_written_as_in_javascript() {
        let json =
            "{ \"b\" : [ 1.50, 2.0, -3, 1e3, true, null ],\n \"a\": \"\\u00fc \\\" \\/ \\\\\" , \"c\":{ } }";
        assert_eq!(compact(json), r#"{"b":[1.5,2,-3,1000,true,null],"a":"ü \" / \\","c":{}}"#);
    }

    #[test]
    fn opening_hours_are_joined_by_day() {
        let hours = fields(
            r#"{ "current_day": [{ "full_name": "Friday", "opens": "11:00", "closes": "15:00" },
                                 { "full_name": "Friday", "opens": "17:00", "closes": "21:30" }],
                 "days": [[{ "full_name": "Tuesday", "opens": "9", "closes": "10" }],
                          { "full_name": "Tuesday", "opens": "11", "closes": "12" }] }"#,
        );
        let shown = opening_hours(&hours).unwrap().unwrap();
        assert_eq!(shown.get(), r#"{"today (friday)":"11:00-15:00, 17:00-21:30","tuesday":"9-10, 11-12"}"#);
        assert!(opening_hours(&fields("{}")).unwrap().is_none());
    }

    #[test]
    fn incomplete_images_are_left_out() {
        let image_of = |width: &str| {
            let json = format!(
                r#"{{"title": "t", "url": "https://a/b", "page_fetched": "2026-01-01T00:00:00Z", "confidence": "high",
                    "properties": {{"url": "https://c", "width": {width}, "height": 2, "x": 3}}}}"#
            );
            image(&fields(&json))
        };
        let expected = r#"{"title":"t","url":"https://a/b","page_fetched":"2026-01-01T00:00:00Z","confidence":"high","properties":{"url":"https://c","width":1,"height":2}}"#;
        assert_eq!(image_of("1").as_deref(), Some(expected));
        assert_eq!(image_of("0"), None);
    }
}
