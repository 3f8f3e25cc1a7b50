//! A terminal in memory, for tests of what people see: it has rows, a cursor, and wraps what is too long.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressDrawTarget, TermLike};

use super::Style;

#[derive(Debug, Clone)]
pub(super) struct Screen {
    columns: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    rows: Vec<String>,
    row: usize,
    /// The row with the cursor, whenever a drawing of a bar was complete.
    frames: Vec<String>,
}

impl State {
    fn row(&mut self) -> &mut String {
        if self.rows.len() <= self.row {
            self.rows.resize_with(self.row + 1, String::new);
        }
        &mut self.rows[self.row]
    }

    fn put(&mut self, text: &str, columns: u16) {
        for character in text.chars() {
            if character == '\n' || self.row().chars().count() == usize::from(columns) {
                self.row += 1;
            }
            if character != '\n' {
                self.row().push(character);
            }
        }
    }
}

impl Screen {
    pub(super) fn new(columns: u16) -> Self {
        Self { columns, state: Arc::default() }
    }

    /// How a terminal of this width is written to.
    pub(super) fn style(&self) -> Style {
        Style { colour: false, quiet: false, columns: Some(self.columns.into()) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn target(&self) -> ProgressDrawTarget {
        ProgressDrawTarget::term_like(Box::new(self.clone()))
    }

    /// What can be seen, but for empty rows at the end and spaces at the end of rows.
    pub(super) fn seen(&self) -> Vec<String> {
        let mut rows: Vec<_> = self.state().rows.iter().map(|row| row.trim_end().to_owned()).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    /// Every drawing of a bar, but for those that took it away.
    pub(super) fn frames(&self) -> Vec<String> {
        self.state().frames.iter().map(|frame| frame.trim_end().to_owned()).filter(|frame| !frame.is_empty()).collect()
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.state().put(&String::from_utf8_lossy(bytes), self.columns);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        self.columns
    }

    fn move_cursor_up(&self, rows: usize) -> io::Result<()> {
        let mut state = self.state();
        state.row = state.row.saturating_sub(rows);
        Ok(())
    }

    fn move_cursor_down(&self, rows: usize) -> io::Result<()> {
        self.state().row += rows;
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.state().put(&format!("{text}\n"), self.columns);
        Ok(())
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.state().put(text, self.columns);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.state().row().clear();
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let mut state = self.state();
        let frame = state.row().clone();
        state.frames.push(frame);
        Ok(())
    }
}
