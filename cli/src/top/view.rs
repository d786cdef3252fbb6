//! What the keys change: order, choice, pause, one process or all.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::columns::Column;
use super::sample::Line;

pub struct View {
    pub sort: Column,
    pub reversed: bool,
    pub paused: bool,
    /// The chosen process, by its file.
    pub chosen: Option<(u64, u64)>,
    /// All of the chosen process is shown.
    pub drilled: bool,
    /// First line of it.
    pub scroll: u16,
}

/// Whether to go on.
#[derive(Debug, PartialEq, Eq)]
pub enum Then {
    Show,
    End,
}

impl View {
    pub fn new(sort: Column) -> View {
        View {
            sort,
            reversed: false,
            paused: false,
            chosen: None,
            drilled: false,
            scroll: 0,
        }
    }

    /// A key, while these lines are shown in this order.
    pub fn key(&mut self, key: KeyEvent, lines: &[&Line]) -> Then {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('q') => return Then::End,
            KeyCode::Char('c') if control => return Then::End,
            KeyCode::Esc | KeyCode::Backspace => self.drilled = false,
            KeyCode::Enter if self.at(lines).is_some() => {
                self.drilled = true;
                self.scroll = 0;
            }
            KeyCode::Char(' ') => self.paused = !self.paused,
            KeyCode::Up | KeyCode::Char('k') => self.step(-1, lines),
            KeyCode::Down | KeyCode::Char('j') => self.step(1, lines),
            KeyCode::PageUp => self.step(-10, lines),
            KeyCode::PageDown => self.step(10, lines),
            KeyCode::Char('r') => self.reversed = !self.reversed,
            KeyCode::Left | KeyCode::Char('<') => self.turn(Column::ALL.len() - 1),
            KeyCode::Right | KeyCode::Char('>') => self.turn(1),
            _ => {}
        }
        Then::Show
    }

    /// Place of the chosen process: the first one, if it is gone or none was chosen.
    pub fn at(&self, lines: &[&Line]) -> Option<usize> {
        let chosen = lines
            .iter()
            .position(|line| Some(line.inode) == self.chosen);
        chosen.or(if lines.is_empty() { None } else { Some(0) })
    }

    fn step(&mut self, by: i32, lines: &[&Line]) {
        if self.drilled {
            let most = lines_of(self.at(lines).map_or("", |at| &lines[at].all));
            self.scroll = i32::from(self.scroll).saturating_add(by).clamp(0, most) as u16;
        } else if let Some(at) = self.at(lines) {
            let last = lines.len() as i32 - 1;
            let to = (at as i32).saturating_add(by).clamp(0, last) as usize;
            self.chosen = Some(lines[to].inode);
        }
    }

    fn turn(&mut self, by: usize) {
        let all = Column::ALL;
        let at = all.iter().position(|c| *c == self.sort).unwrap_or(0);
        self.sort = all[(at + by) % all.len()];
    }
}

/// The last line stays on the screen.
fn lines_of(text: &str) -> i32 {
    let count = text.lines().count().saturating_sub(1);
    i32::try_from(count.min(usize::from(u16::MAX))).unwrap_or(0)
}

/// "1 live process"
pub fn live(count: usize) -> String {
    let plural = if count == 1 { "" } else { "es" };
    format!("{count} live process{plural}")
}

pub fn sorted(lines: &[Line], by: Column, reversed: bool) -> Vec<&Line> {
    let mut sorted: Vec<&Line> = lines.iter().collect();
    sorted.sort_by(|a, b| by.order(a, b));
    if reversed {
        sorted.reverse();
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::sample::made_up;

    fn press(view: &mut View, code: KeyCode, lines: &[Line]) -> Then {
        let lines = sorted(lines, view.sort, view.reversed);
        view.key(KeyEvent::from(code), &lines)
    }

    #[test]
    fn the_choice_stays_with_its_process() {
        let lines = [made_up(1, 30), made_up(2, 20), made_up(3, 10)];
        let mut view = View::new(Column::Made);
        press(&mut view, KeyCode::Down, &lines);
        assert_eq!(view.chosen, Some(lines[1].inode));
        press(&mut view, KeyCode::Char('r'), &lines);
        press(&mut view, KeyCode::Char('>'), &lines);
        assert_eq!((view.sort, view.reversed), (Column::Failed, true));
        assert_eq!(view.at(&sorted(&lines, view.sort, true)), Some(1));
        for _ in 0..5 {
            press(&mut view, KeyCode::Down, &lines);
        }
        assert_eq!(view.chosen, Some(lines[0].inode));
        // It is gone: the first one is.
        assert_eq!(view.at(&sorted(&lines[1..], Column::Pid, false)), Some(0));
        assert_eq!(view.at(&[]), None);
    }

    #[test]
    fn columns_go_round_in_both_directions() {
        let mut view = View::new(Column::Pid);
        press(&mut view, KeyCode::Left, &[]);
        assert_eq!(view.sort, Column::P99);
        press(&mut view, KeyCode::Right, &[]);
        assert_eq!(view.sort, Column::Pid);
    }

    #[test]
    fn nothing_is_shown_of_no_process_and_keys_end_it() {
        let mut view = View::new(Column::Pid);
        assert_eq!(press(&mut view, KeyCode::Enter, &[]), Then::Show);
        assert!(!view.drilled);
        for code in [KeyCode::Up, KeyCode::PageDown, KeyCode::F(1)] {
            assert_eq!(press(&mut view, code, &[]), Then::Show);
        }
        assert_eq!(press(&mut view, KeyCode::Char('q'), &[]), Then::End);
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(view.key(control_c, &[]), Then::End);
        assert_eq!(press(&mut view, KeyCode::Char('c'), &[]), Then::Show);
    }

    #[test]
    fn a_process_scrolls_to_its_last_line() {
        let lines = [made_up(1, 1)];
        let mut view = View::new(Column::Pid);
        press(&mut view, KeyCode::Enter, &lines);
        assert!(view.drilled);
        press(&mut view, KeyCode::PageDown, &lines);
        assert_eq!(view.scroll, 2);
        press(&mut view, KeyCode::PageUp, &lines);
        assert_eq!(view.scroll, 0);
        press(&mut view, KeyCode::Esc, &lines);
        assert!(!view.drilled);
    }
}
