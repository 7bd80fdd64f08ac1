//! Vectors from an endpoint that speaks as OpenAI's `/v1/embeddings` does: llama.cpp, Ollama, vLLM.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use toolbay_search::semantic::{Code, EmbedError, Embedder};
use toolbay_transport::http::client::{JsonService, Target};

/// Texts that are sent at once.
const BATCH: usize = 32;
/// Models take some hundred words; what is longer is cut here.
const MOST_CHARACTERS: usize = 6_000;
/// A batch on a slow machine.
const PATIENCE_FOR_CODE: Duration = Duration::from_secs(120);
/// Somebody waits for the answer to a question, and the built-in model is there.
const PATIENCE_FOR_QUESTION: Duration = Duration::from_secs(5);

/// An endpoint that makes vectors.
#[derive(Debug)]
pub struct EmbeddingEndpoint {
    name: String,
    model: String,
    service: JsonService,
    /// Where requests run while a thread of the search waits for them.
    runtime: Handle,
}

#[derive(Deserialize)]
struct Answer {
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

    fn ask(&self, texts: &[String], patience: Duration) -> Result<Vec<Vec<f32>>, EmbedError> {
        let failed = |reason: String| EmbedError { embedder: self.name.clone(), reason };
        let question = json!({ "model": self.model, "input": texts, "encoding_format": "float" });
        let answer = self.runtime.block_on(self.service.post(question.to_string().into(), patience));
        let answer = answer.map_err(|error| failed(error.to_string()))?;
        let Answer { data } = serde_json::from_slice(&answer)
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
            let texts: Vec<String> = batch.iter().map(said).collect();
            rows.extend(self.ask(&texts, PATIENCE_FOR_CODE)?);
        }
        Ok(rows)
    }

    fn query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let texts = [text.chars().take(MOST_CHARACTERS).collect()];
        Ok(self.ask(&texts, PATIENCE_FOR_QUESTION)?.pop().unwrap_or_default())
    }
}

/// A piece of code as a text that says where it is.
fn said(code: &Code<'_>) -> String {
    let Code { path, names, text } = code;
    let all = format!("{path} {}\n{text}", names.join(" "));
    all.chars().take(MOST_CHARACTERS).collect()
}

/// The vectors in the order of the texts, which is not always that of the answer; nothing unless each text has one and
/// all are as long.
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
    fn vectors_are_put_in_order_and_odd_answers_refused() {
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
