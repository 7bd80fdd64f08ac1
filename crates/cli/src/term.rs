//! Output on terminals.

pub(crate) mod confirm;
pub(crate) mod output;
pub(crate) mod parameters;
pub(crate) mod screen;
pub(crate) mod startup_table;
pub(crate) mod status_view;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod time;
