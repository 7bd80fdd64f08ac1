//! `toolbay tools --search QUERY`: the tools that a client finds, and why.

use serde_json::{Value, json};
use toolbay_toolsearch::{Explanation, FoundTools, NameMatch, ToolIndex, ToolText};

use crate::{
    app::{context::Context, error::CliError},
    commands::listing::{Offer, counted},
    term::{
        style::clean_line,
        table::{Cell, Look, render_fitting},
    },
};

/// How many tools are shown.
const SHOWN: usize = 10;

/// Prints the tools that fit, best first, with the words that they have.
pub(super) fn print(
    context: &Context,
    offers: &[Offer],
    query: &str,
    server: Option<&str>,
) -> Result<(), CliError> {
    let text = |offer: &Offer| {
        let server = offer.server.as_deref().unwrap_or_default();
        let text = ToolText::from_definition(&offer.name, server, &offer.json);
        match offer.name.split_once("__") {
            Some((_, bare_name)) => ToolText { bare_name: bare_name.to_owned(), ..text },
            None => text,
        }
    };
    let index = ToolIndex::new(offers.iter().map(text));
    let FoundTools { hits, total, unmatched_terms, is_doubtful } = index.search(query, SHOWN, server);
    let found: Vec<(&Offer, f32, Explanation)> =
        hits.iter().map(|hit| (&offers[hit.tool], hit.score, index.explain(query, hit.tool))).collect();
    let out = &context.out;
    if out.json {
        let tools: Vec<Value> = found.iter().map(|(offer, score, why)| as_json(offer, *score, why)).collect();
        let all = json!({ "tools": tools, "total": total, "unmatched_terms": unmatched_terms, "doubtful": is_doubtful });
        return Ok(out.json_object(&all)?);
    }
    let unmatched: Vec<String> = unmatched_terms.iter().map(|term| clean_line(term)).collect();
    if found.is_empty() {
        out.note(&format!("no tool fits `{}`", clean_line(query)));
        if !unmatched.is_empty() {
            out.note(&format!("in no tool: {}", unmatched.join(", ")));
        }
        return Err(CliError::NothingFound);
    }
    let mut rows = vec![["SCORE", "TOOL", "WHY"].map(|head| Cell::new(head, Look::Dim)).to_vec()];
    rows.extend(found.iter().map(|(offer, score, why)| {
        let name = Cell::new(clean_line(&offer.name), Look::Bold);
        vec![format!("{score:.2}").into(), name, clean_line(&reason(why)).into()]
    }));
    let lines = render_fitting(&rows, out.paint, out.columns);
    out.data(&lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    out.note(&format!("\n{} of {} that fit, of {}", found.len(), total, counted(offers.len(), "tool")));
    if is_doubtful {
        out.note("no tool stands out");
    }
    if !unmatched.is_empty() {
        out.note(&format!("in no tool: {}", unmatched.join(", ")));
    }
    Ok(())
}

/// `the query is its name; meaning 0.61; words 0.42: delete 0.42 of 0.50 (name, description), old 0 of 0.20`.
fn reason(why: &Explanation) -> String {
    let name = why.name.map(|name| match name {
        NameMatch::Exact => "the query names it".to_owned(),
        NameMatch::Prefix => "its name begins with the query".to_owned(),
    });
    let terms: Vec<String> = why
        .terms
        .iter()
        .map(|term| {
            let fields: Vec<String> =
                term.fields.iter().map(|field| format!("{field:?}").to_lowercase()).collect();
            let places = if fields.is_empty() { String::new() } else { format!(" ({})", fields.join(", ")) };
            format!("{} {:.2} of {:.2}{places}", term.term, term.score, term.weight)
        })
        .collect();
    let parts = format!("meaning {:.2}; words {:.2}: {}", why.meaning, why.words, terms.join(", "));
    name.into_iter().chain((!terms.is_empty()).then_some(parts)).collect::<Vec<_>>().join("; ")
}

fn as_json(offer: &Offer, score: f32, why: &Explanation) -> Value {
    let terms: Vec<Value> = why
        .terms
        .iter()
        .map(|term| {
            let fields: Vec<String> =
                term.fields.iter().map(|field| format!("{field:?}").to_lowercase()).collect();
            json!({ "term": term.term, "weight": term.weight, "score": term.score, "fields": fields })
        })
        .collect();
    json!({
        "name": offer.name,
        "server": offer.server,
        "score": score,
        "named": why.name.is_some(),
        "words": why.words,
        "meaning": why.meaning,
        "terms": terms,
    })
}
