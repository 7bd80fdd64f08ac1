//! Columns.

use crate::style::Paint;

/// A cell: what it says, and how it looks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    text: String,
    look: Look,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Look {
    #[default]
    Plain,
    Bold,
    Dim,
    Good,
    Busy,
    Bad,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>, look: Look) -> Self {
        Self { text: text.into(), look }
    }

    fn painted(&self, paint: Paint) -> String {
        match self.look {
            Look::Plain => self.text.clone(),
            Look::Bold => paint.bold(&self.text),
            Look::Dim => paint.dim(&self.text),
            Look::Good => paint.green(&self.text),
            Look::Busy => paint.yellow(&self.text),
            Look::Bad => paint.red(&self.text),
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Look::Plain)
    }
}

/// Lines of aligned cells. The last cell of a row may be as long as it likes: it widens no column.
pub(crate) fn render(rows: &[Vec<Cell>], paint: Paint) -> Vec<String> {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        for (index, cell) in row.iter().enumerate().take(row.len().saturating_sub(1)) {
            if widths.len() <= index {
                widths.push(0);
            }
            widths[index] = widths[index].max(cell.text.chars().count());
        }
    }
    rows.iter()
        .map(|row| {
            let mut line = String::new();
            for (index, cell) in row.iter().enumerate() {
                line.push_str(&cell.painted(paint));
                if index + 1 < row.len() {
                    let padding = widths[index] - cell.text.chars().count() + 2;
                    line.push_str(&" ".repeat(padding));
                }
            }
            line.trim_end().to_owned()
        })
        .collect()
}
