//! Elicitation on a terminal: forms and URLs.

use serde_json::{Map, Value, json};

use crate::{
    app::{context::Context, error::CliError},
    term::{
        confirm::read_line,
        output::to_stderr,
        parameters::{Parameter, parameters},
        style::{clean, clean_line},
    },
};

/// The user's decision about a request.
enum FormDecision {
    Answer,
    Decline,
    Cancel,
}

/// Shows an elicitation and returns the result of `elicitation/create`.
pub(super) async fn elicit(context: &Context, server: &str, params: &Value) -> Result<Value, CliError> {
    let paint = context.out.paint_status;
    let message = clean(params["message"].as_str().unwrap_or_default()).into_owned();
    to_stderr(&format!("{} {message}\n", paint.bold(&format!("{} asks:", clean_line(server)))));
    let url = params["url"].as_str().filter(|_| params["mode"] == "url");
    if let Some(url) = url {
        to_stderr(&format!("  {}\n", clean_line(url)));
        let question = "Open this page yourself if you trust it. Done? [y]es, [d]ecline, [c]ancel: ";
        return Ok(match decide(context, question, FormDecision::Cancel).await? {
            FormDecision::Answer => json!({ "action": "accept" }),
            FormDecision::Decline => json!({ "action": "decline" }),
            FormDecision::Cancel => json!({ "action": "cancel" }),
        });
    }
    match decide(context, "Answer? [Y]es, [d]ecline, [c]ancel: ", FormDecision::Answer).await? {
        FormDecision::Answer => {}
        FormDecision::Decline => return Ok(json!({ "action": "decline" })),
        FormDecision::Cancel => return Ok(json!({ "action": "cancel" })),
    }
    let mut content = Map::new();
    for field in parameters(&params["requestedSchema"].to_string()) {
        match fill_in(context, &field).await? {
            Filled::Value(value) => {
                content.insert(field.name, value);
            }
            Filled::Nothing => {}
            Filled::End => return Ok(json!({ "action": "cancel" })),
        }
    }
    Ok(json!({ "action": "accept", "content": content }))
}

async fn decide(context: &Context, question: &str, usual: FormDecision) -> Result<FormDecision, CliError> {
    loop {
        let Some(line) = read_line(context, question).await? else { return Ok(FormDecision::Cancel) };
        return Ok(match line.trim().to_lowercase().as_str() {
            "" => usual,
            "y" | "yes" => FormDecision::Answer,
            "d" | "decline" | "n" | "no" => FormDecision::Decline,
            "c" | "cancel" => FormDecision::Cancel,
            _ => continue,
        });
    }
}

/// The result of asking for a field.
enum Filled {
    Value(Value),
    /// It is optional and was left out.
    Nothing,
    /// There is no more input.
    End,
}

async fn fill_in(context: &Context, field: &Parameter) -> Result<Filled, CliError> {
    let paint = context.out.paint_status;
    if let Some(description) = &field.description {
        to_stderr(&format!("  {}\n", paint.dim(&clean_line(description))));
    }
    let choices = choices(&field.schema);
    for (index, choice) in choices.iter().enumerate() {
        to_stderr(&format!("  {} {}\n", paint.bold(&format!("{}.", index + 1)), clean_line(&choice.title)));
    }
    let default = field.schema.get("default").filter(|value| !value.is_null());
    let question = format!("  {}", prompt(field, &choices, default));
    loop {
        let Some(line) = read_line(context, &question).await? else { return Ok(Filled::End) };
        let typed = line.trim();
        if typed.is_empty() {
            match default {
                Some(default) => return Ok(Filled::Value(default.clone())),
                None if !field.is_required => return Ok(Filled::Nothing),
                None => to_stderr("  a value is required\n"),
            }
            continue;
        }
        match value(&field.schema, &choices, typed) {
            Ok(value) => return Ok(Filled::Value(value)),
            Err(why) => to_stderr(&format!("  {why}\n")),
        }
    }
}

fn prompt(field: &Parameter, choices: &[Choice], default: Option<&Value>) -> String {
    let is_many = field.schema["type"] == "array";
    let kind = match (choices.is_empty(), is_many) {
        (true, _) => clean_line(&field.type_name),
        (false, false) => format!("1-{}", choices.len()),
        (false, true) => format!("some of 1-{}, with commas", choices.len()),
    };
    let required = if field.is_required { "" } else { ", optional" };
    let default = default.map(|value| match value {
        Value::String(text) => format!(" [{}]", clean_line(text)),
        value => format!(" [{}]", clean_line(&value.to_string())),
    });
    format!("{} ({kind}{required}){}: ", clean_line(&field.name), default.unwrap_or_default())
}

/// A choice.
#[derive(Debug, Clone, PartialEq)]
struct Choice {
    value: Value,
    title: String,
}

/// The choices of a field, or of the items of a list.
fn choices(schema: &Value) -> Vec<Choice> {
    let schema = if schema["type"] == "array" { &schema["items"] } else { schema };
    if let Some(values) = schema["enum"].as_array() {
        let titles = schema["enumNames"].as_array();
        let title = |index: usize, value: &Value| {
            let given = titles.and_then(|titles| titles.get(index)).and_then(Value::as_str);
            given.map_or_else(|| plain(value), str::to_owned)
        };
        let choice =
            |(index, value): (usize, &Value)| Choice { value: value.clone(), title: title(index, value) };
        return values.iter().enumerate().map(choice).collect();
    }
    let variants = schema["oneOf"].as_array().or(schema["anyOf"].as_array()).into_iter().flatten();
    variants
        .filter_map(|variant| {
            let value = variant.get("const")?.clone();
            let title = variant["title"].as_str().map_or_else(|| plain(&value), str::to_owned);
            Some(Choice { value, title })
        })
        .collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Converts the typed text to a value that fits the schema; the error is for the user.
fn value(schema: &Value, choices: &[Choice], typed: &str) -> Result<Value, String> {
    if schema["type"] == "array" {
        let parts = typed.split(',').map(str::trim).filter(|part| !part.is_empty());
        let values: Vec<Value> = parts.map(|part| choose(choices, part)).collect::<Result<_, _>>()?;
        let count = values.len() as u64;
        return match (schema["minItems"].as_u64(), schema["maxItems"].as_u64()) {
            (Some(least), _) if count < least => Err(format!("choose at least {least}")),
            (_, Some(most)) if count > most => Err(format!("choose at most {most}")),
            _ => Ok(Value::Array(values)),
        };
    }
    if !choices.is_empty() {
        return choose(choices, typed);
    }
    match schema["type"].as_str() {
        Some("boolean") => match typed.to_lowercase().as_str() {
            "y" | "yes" | "true" => Ok(true.into()),
            "n" | "no" | "false" => Ok(false.into()),
            _ => Err("type yes or no".to_owned()),
        },
        Some(kind @ ("number" | "integer")) => number(schema, kind, typed),
        _ => text(schema, typed),
    }
}

/// A choice by its number, its title or its value.
fn choose(choices: &[Choice], typed: &str) -> Result<Value, String> {
    let by_number = typed.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
    let by_name = || {
        choices.iter().find(|choice| {
            choice.title.eq_ignore_ascii_case(typed) || plain(&choice.value).eq_ignore_ascii_case(typed)
        })
    };
    let found = by_number.or_else(by_name).map(|choice| choice.value.clone());
    found.ok_or_else(|| format!("type a number from 1 to {}", choices.len()))
}

fn number(schema: &Value, kind: &str, typed: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(typed).unwrap_or_default();
    let number = value
        .as_f64()
        .ok_or_else(|| format!("type {}", if kind == "integer" { "an integer" } else { "a number" }))?;
    if kind == "integer" && number.fract() != 0.0 {
        return Err("type an integer".to_owned());
    }
    match (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
        (Some(least), _) if number < least => Err(format!("it must be at least {least}")),
        (_, Some(most)) if number > most => Err(format!("it must be at most {most}")),
        _ => Ok(value),
    }
}

fn text(schema: &Value, typed: &str) -> Result<Value, String> {
    let length = typed.chars().count() as u64;
    if schema["minLength"].as_u64().is_some_and(|least| length < least) {
        return Err(format!("it must have at least {} characters", schema["minLength"]));
    }
    if schema["maxLength"].as_u64().is_some_and(|most| length > most) {
        return Err(format!("it must have at most {} characters", schema["maxLength"]));
    }
    let digits = |text: &str, form: &str| {
        text.len() == form.len()
            && text.chars().zip(form.chars()).all(|(c, f)| if f == '0' { c.is_ascii_digit() } else { c == f })
    };
    let is_valid = match schema["format"].as_str() {
        Some("email") => {
            typed.split_once('@').is_some_and(|(user, host)| !user.is_empty() && host.contains('.'))
        }
        Some("uri") => {
            typed.split_once(':').is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty())
        }
        Some("date") => digits(typed, "0000-00-00"),
        Some("date-time") => {
            typed.get(..19).is_some_and(|head| digits(&head.replace(['t', ' '], "T"), "0000-00-00T00:00:00"))
        }
        _ => true,
    };
    let format = schema["format"].as_str().unwrap_or_default();
    if is_valid { Ok(typed.into()) } else { Err(format!("it must be a valid {format}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_must_fit() {
        let colors = json!({ "type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"] });
        let titled = json!({ "type": "string", "oneOf": [{ "const": "a", "title": "First" }] });
        let some = json!({ "type": "array", "minItems": 1, "maxItems": 1, "items": { "enum": ["x", "y"] } });
        for (schema, typed, expected) in [
            (json!({ "type": "string" }), "a b", Ok(json!("a b"))),
            (json!({ "type": "string", "minLength": 3 }), "ab", Err("it must have at least 3 characters")),
            (json!({ "type": "string", "format": "email" }), "ada", Err("it must be a valid email")),
            (json!({ "type": "string", "format": "email" }), "ada@x.org", Ok(json!("ada@x.org"))),
            (json!({ "type": "string", "format": "date" }), "2026-1-1", Err("it must be a valid date")),
            (
                json!({ "type": "string", "format": "date-time" }),
                "2026-01-01T10:00:00Z",
                Ok(json!("2026-01-01T10:00:00Z")),
            ),
            (json!({ "type": "integer", "maximum": 5 }), "5", Ok(json!(5))),
            (json!({ "type": "integer", "maximum": 5 }), "6", Err("it must be at most 5")),
            (json!({ "type": "integer" }), "1.5", Err("type an integer")),
            (json!({ "type": "number" }), "many", Err("type a number")),
            (json!({ "type": "boolean" }), "Yes", Ok(json!(true))),
            (json!({ "type": "boolean" }), "maybe", Err("type yes or no")),
            (colors.clone(), "2", Ok(json!("g"))),
            (colors.clone(), "red", Ok(json!("r"))),
            (colors, "3", Err("type a number from 1 to 2")),
            (titled, "first", Ok(json!("a"))),
            (some.clone(), "2", Ok(json!(["y"]))),
            (some, "1, 2", Err("choose at most 1")),
        ] {
            let made = value(&schema, &choices(&schema), typed);
            assert_eq!(made, expected.map_err(str::to_owned), "{schema} {typed}");
        }
    }
}
