//! Embeddings from an endpoint that is compatible with OpenAI's `/v1/embeddings`: llama.cpp, Ollama, vLLM.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use toolbay_search::semantic::{Code, EmbedError, Embedder};
use toolbay_transport::http::client::{JsonService, Target};

/// How many texts a request has.
const BATCH: usize = 32;
/// Models take some hundred words; longer texts are cut here.
const MAX_CHARACTERS: usize = 6_000;
/// Enough for a batch on a slow machine.
const CODE_TIMEOUT: Duration = Duration::from_secs(120);
/// Short, because a search waits and the built-in model can be used instead.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);

/// An embedding endpoint.
#[derive(Debug)]
pub struct EmbeddingEndpoint {
    name: String,
    model: String,
    service: JsonService,
    /// Runs requests while a thread of the search waits for them.
    runtime: Handle,
}

#[derive(Deserialize)]
struct EmbeddingsResponse {
    data: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl EmbeddingEndpoint {
    /// The endpoint at the target's URL; its headers carry the key, if it wants one. Must be made within a runtime.
    pub fn new(target: Target, model: &str, tasks: &TaskTracker) -> Self {
        let host = target.url.host().unwrap_or_default();
        Self {
            name: format!("{model} at {host}"),
            model: model.to_owned(),
            service: JsonService::new(target, tasks),
            runtime: Handle::current(),
        }
    }

    fn request(&self, texts: &[String], timeout: Duration) -> Result<Vec<Vec<f32>>, EmbedError> {
        let failed = |reason: String| EmbedError { embedder: self.name.clone(), reason };
        let body = json!({ "model": self.model, "input": texts, "encoding_format": "float" });
        let response = self.runtime.block_on(self.service.post(body.to_string().into(), timeout));
        let response = response.map_err(|error| failed(error.to_string()))?;
        let EmbeddingsResponse { data } = serde_json::from_slice(&response)
            .map_err(|error| failed(format!("its response is not a list of embeddings: {error}")))?;
        in_order(data, texts.len())
            .ok_or_else(|| failed(format!("it did not return one vector for each of {} texts", texts.len())))
    }
}

impl Embedder for EmbeddingEndpoint {
    fn name(&self) -> &str {
        &self.name
    }

    fn codes(&self, batch: &[Code<'_>]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut rows = Vec::with_capacity(batch.len());
        for batch in batch.chunks(BATCH) {
            let texts: Vec<String> = batch.iter().map(as_text).collect();
            rows.extend(self.request(&texts, CODE_TIMEOUT)?);
        }
        Ok(rows)
    }

    fn query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let texts = [text.chars().take(MAX_CHARACTERS).collect()];
        Ok(self.request(&texts, QUERY_TIMEOUT)?.pop().unwrap_or_default())
    }
}

/// Returns a piece of code as a text with its path and names.
fn as_text(code: &Code<'_>) -> String {
    let Code { path, names, text } = code;
    let all = format!("{path} {}\n{text}", names.join(" "));
    all.chars().take(MAX_CHARACTERS).collect()
}

/// Returns the vectors in the order of the texts, which is not always that of the response; none unless each text has one
/// and all have the same length.
fn in_order(rows: Vec<Row>, count: usize) -> Option<Vec<Vec<f32>>> {
    let length = rows.first()?.embedding.len();
    let mut ordered: Vec<Option<Vec<f32>>> = vec![None; count];
    for (place, row) in rows.into_iter().enumerate() {
        let is_sound = row.embedding.len() == length && row.embedding.iter().all(|x| x.is_finite());
        *ordered.get_mut(row.index.unwrap_or(place))? = is_sound.then_some(row.embedding);
    }
    ordered.into_iter().collect::<Option<Vec<_>>>().filter(|_| length > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(index: Option<usize>, embedding: &[f32]) -> Row {
        Row { index, embedding: embedding.to_vec() }
    }

    #[test]
    fn vectors_are_sorted_and_invalid_responses_refused() {
        let swapped = vec![row(Some(1), &[2.0]), row(Some(0), &[1.0])];
        assert_eq!(in_order(swapped, 2), Some(vec![vec![1.0], vec![2.0]]));
        assert_eq!(in_order(vec![row(None, &[1.0]), row(None, &[2.0])], 2).map(|rows| rows.len()), Some(2));
        for odd in [
            vec![],
            vec![row(Some(0), &[1.0])],
            vec![row(Some(0), &[1.0]), row(Some(0), &[1.0])],
            vec![row(Some(0), &[1.0]), row(Some(7), &[1.0])],
            vec![row(None, &[1.0]), row(None, &[1.0, 2.0])],
            vec![row(None, &[]), row(None, &[])],
            vec![row(None, &[1.0]), row(None, &[f32::NAN])],
        ] {
            assert_eq!(in_order(odd, 2), None);
        }
    }
}
