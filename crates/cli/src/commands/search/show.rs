//! What a search found, for people and for programs.

use std::fmt::Write;

use serde_json::json;
use toolbay_builtin::codebase::{MeaningAnswer, MeaningHit, TextAnswer, TextHit};

use super::Found;
use crate::{
    args::SearchArgs,
    error::CliError,
    output::Output,
    style::{Paint, clean, clean_line},
};

/// How many lines of a chunk are shown unless all are wanted.
const LINES: usize = 12;

pub(super) fn show(out: &Output, args: &SearchArgs, found: &Found) -> Result<(), CliError> {
    match found {
        Found::Text(answer) => text(out, args, answer)?,
        Found::Meaning(answer) => meaning(out, args, answer)?,
    }
    let is_empty = match found {
        Found::Text(answer) => answer.hits.is_empty(),
        Found::Meaning(answer) => answer.hits.is_empty(),
    };
    if is_empty {
        out.note("nothing found");
        return Err(CliError::NothingFound);
    }
    Ok(())
}

fn text(out: &Output, args: &SearchArgs, answer: &TextAnswer) -> Result<(), CliError> {
    let next = args.offset + answer.hits.len();
    let truncated = next < answer.total || !answer.is_total_exact;
    if out.json {
        let fields = json!({ "results": answer.hits, "total": answer.total, "truncated": truncated });
        return Ok(out.json_object(&fields)?);
    }
    let mut all = String::new();
    for (index, hit) in answer.hits.iter().enumerate() {
        if args.context > 0 && index > 0 {
            let _ = writeln!(all, "{}", out.paint.dim("--"));
        }
        line_of_text(&mut all, hit, out.paint);
    }
    out.data(&all)?;
    if truncated {
        let total = if answer.is_total_exact { "" } else { "at least " };
        out.note(&format!(
            "{} of {total}{} lines; the next: --offset {next}",
            answer.hits.len(),
            answer.total
        ));
    }
    Ok(())
}

fn line_of_text(all: &mut String, hit: &TextHit, paint: Paint) {
    let path = paint.bold(&clean_line(&hit.file_path));
    let first = hit.line_number - hit.before.len() as u64;
    for (number, line) in (first..).zip(&hit.before) {
        let _ = writeln!(all, "{path}{}{}", paint.dim(&format!("-{number}-")), clean(line));
    }
    let number = paint.green(&hit.line_number.to_string());
    let _ = writeln!(all, "{path}:{number}:{}", clean(&hit.line_content));
    for (number, line) in (hit.line_number + 1..).zip(&hit.after) {
        let _ = writeln!(all, "{path}{}{}", paint.dim(&format!("-{number}-")), clean(line));
    }
}

fn meaning(out: &Output, args: &SearchArgs, answer: &MeaningAnswer) -> Result<(), CliError> {
    let next = args.offset + answer.hits.len();
    if out.json {
        let truncated = next < answer.total;
        let fields = json!({
            "results": answer.hits,
            "total": answer.total,
            "truncated": truncated,
            "index": answer.index,
        });
        return Ok(out.json_object(&fields)?);
    }
    let mut all = String::new();
    for (index, hit) in answer.hits.iter().enumerate() {
        if index > 0 {
            all.push('\n');
        }
        chunk(&mut all, hit, args.full, out.paint);
    }
    out.data(&all)?;
    if !answer.index.complete {
        let index = &answer.index;
        out.note(&format!("{} of {} files are indexed so far", index.indexed_files, index.files));
    }
    Ok(())
}

fn chunk(all: &mut String, hit: &MeaningHit, full: bool, paint: Paint) {
    let place = format!("{}:{}-{}", clean_line(&hit.file_path), hit.start_line, hit.end_line);
    let symbol = hit.symbol.as_deref().map(clean_line).unwrap_or_default();
    let score = paint.dim(&format!("{:.2}", hit.score));
    let _ = writeln!(all, "{}  {}  {score}", paint.bold(&place), paint.yellow(&symbol));
    let width = hit.end_line.to_string().len();
    let lines = hit.content.trim_end().lines().count();
    let shown = if full || lines <= LINES + 1 { lines } else { LINES };
    for (number, line) in (hit.start_line..).zip(hit.content.lines()).take(shown) {
        let _ = writeln!(all, "{} {}", paint.green(&format!("{number:>width$}")), clean(line));
    }
    if shown < lines {
        let _ = writeln!(all, "{}", paint.dim(&format!("{:>width$} {} more lines", "…", lines - shown)));
    }
}
