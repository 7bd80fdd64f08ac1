//! What is done with the results of a tool before clients get them.

use std::sync::Arc;

use toolbay_config::ValidateOutput;
use toolbay_protocol::{Response, Scanner, model::Tool};
use toolbay_upstream::{LogSource, ServerHandle};

use super::{table::ServerPart, validate::Validator};

/// Limits and checks of the results of one tool. Tools without any have none.
#[derive(Debug)]
pub struct OutputRules {
    /// How many bytes of text clients get, and of structured content.
    pub max_result: Option<usize>,
    validate: ValidateOutput,
    /// The schema of structured content, where the tool declares one.
    schema: Option<Validator>,
    server: ServerHandle,
    /// The name that the server uses.
    tool: String,
}

/// What a check of a result found.
#[derive(Debug, PartialEq, Eq)]
pub enum OutputCheck {
    /// Nothing that keeps it from its client.
    Passes,
    /// It does not match, and clients get an error in its place: a result as JSON text.
    Refused(String),
}

impl OutputRules {
    /// The rules of a tool; none if nothing is to be done.
    pub(super) fn of(offer: &ServerPart, tool: &Tool) -> Option<Arc<Self>> {
        let of_tool = offer.tuning.tool.get(tool.name()).and_then(|options| options.max_result);
        let max_result = of_tool.or(offer.tuning.max_result).filter(|limit| *limit > 0);
        let validate = offer.tuning.validate_output;
        if max_result.is_none() && validate == ValidateOutput::Off {
            return None;
        }
        Some(Arc::new(Self {
            max_result,
            validate,
            schema: tool.output_schema().map(Validator::of_known),
            server: offer.server.clone(),
            tool: tool.name().to_owned(),
        }))
    }

    /// Whether results are checked.
    pub fn checks(&self) -> bool {
        self.validate != ValidateOutput::Off && self.schema.is_some()
    }

    /// Whether the tool declares a schema, so that clients may check results by it.
    pub fn has_schema(&self) -> bool {
        self.schema.is_some()
    }

    /// Whether structured content (JSON text) certainly matches the schema. What cannot be checked does not.
    pub fn matches(&self, structured: &[u8]) -> bool {
        let Some(schema) = &self.schema else { return true };
        schema.can_check(structured) && schema.faults(structured, true).is_empty()
    }

    /// Checks a result, and writes what is wrong into the log of the server.
    pub fn check(&self, response: &Response) -> OutputCheck {
        let Some(schema) = self.schema.as_ref().filter(|_| self.checks()) else { return OutputCheck::Passes };
        // Failed calls need no structured content.
        let is_error = response.result_field("isError").is_some_and(|span| response.raw(span) == "true");
        if response.result_text().is_none() || is_error {
            return OutputCheck::Passes;
        }
        let faults = match response.result_field("structuredContent") {
            None => vec!["at `/`: there is no `structuredContent`".to_owned()],
            Some(span) => {
                let text = &response.text[span.range()];
                let mut scanner = Scanner::new(text);
                let is_exact = scanner.value().is_ok() && !scanner.saw_wide_number();
                schema.faults(text, is_exact)
            }
        };
        if faults.is_empty() {
            return OutputCheck::Passes;
        }
        let note =
            format!("a result of `{}` does not match its outputSchema: {}", self.tool, faults.join("; "));
        self.server.log().push(LogSource::Event, &note);
        if self.validate == ValidateOutput::Warn {
            return OutputCheck::Passes;
        }
        let text = format!(
            "The tool returned a result that does not match its output schema, so it is withheld. The call may have had effects.\n{}",
            faults.join("\n")
        );
        OutputCheck::Refused(crate::router::failed_result(&text))
    }
}
