//! Servers that are started one after the other.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Whose turn it is to be started. Clones share it.
///
/// Starting a process holds up the thread for about a millisecond. Thirty in a row would hold up everybody else for
/// that long; in turns, whoever has something to do gets a word in between two of them.
#[derive(Debug, Clone)]
pub struct StartGate(Arc<Semaphore>);

impl Default for StartGate {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl StartGate {
    /// Waits for one's turn, which ends when what this gives is dropped.
    pub(crate) async fn taken(&self) -> Option<OwnedSemaphorePermit> {
        // It is never closed.
        let turn = self.0.clone().acquire_owned().await.ok();
        tokio::task::yield_now().await;
        turn
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// What has nothing to do with starting gets a word in.
    #[tokio::test]
    async fn others_get_a_word_in_between_two_turns() {
        let (turn, said) = (StartGate::default(), Arc::new(Mutex::new(String::new())));
        let say = |word: char, said: &Mutex<String>| said.lock().unwrap().push(word);
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..6 {
            let (turn, said) = (turn.clone(), said.clone());
            tasks.spawn(async move {
                let _turn = turn.taken().await;
                say('s', &said);
            });
        }
        let other = said.clone();
        tasks.spawn(async move {
            for _ in 0..16 {
                say('.', &other);
                tokio::task::yield_now().await;
            }
        });
        tasks.join_all().await;
        let said = said.lock().unwrap();
        assert_eq!(said.matches('s').count(), 6);
        // At most one in each round of the runtime; whether it comes first or last there is left to chance.
        assert!(!said.contains("sss"), "several in one round: {said}");
    }
}
