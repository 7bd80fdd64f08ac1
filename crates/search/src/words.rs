//! Text as words: identifiers split, stemmed, stop words known.

mod split;
mod stem;
mod stop;

pub use split::{WordPiece, each, split};
pub use stem::{stem, stem_again};
pub use stop::is_stop_word;
