//! Where there is no terminal: one table after the other.

use std::thread::sleep;

use super::args::TopArgs;
use super::columns::Column;
use super::sample::{Line, Watch};
use super::view::{live, sorted};
use crate::failure::{Failure, FOUND};
use crate::output;
use crate::stats::find::complain;
use crate::stats::overview::now;

pub fn run(args: &TopArgs) -> Result<u8, Failure> {
    let mut watch = Watch::default();
    let mut first = true;
    loop {
        let look = watch.look();
        if first {
            // Once is enough.
            complain(&look.refused, look.not_ours);
        }
        let lines = sorted(&look.lines, args.sort, false);
        let end = if args.once { "" } else { "\n" };
        let written = output::print_while_read(&format!("{}{end}", table(&lines)))?;
        if args.once {
            return Ok(if lines.is_empty() { FOUND } else { 0 });
        }
        if !written {
            return Ok(0);
        }
        first = false;
        sleep(args.interval);
    }
}

fn table(lines: &[&Line]) -> String {
    let titles = row(|column| column.title().to_owned());
    let rows = lines.iter().map(|line| row(|column| column.cell(line)));
    let head = format!("{}: {}\n{titles}", now(), live(lines.len()));
    [head].into_iter().chain(rows).collect()
}

fn row(cell: impl Fn(Column) -> String) -> String {
    let cells = Column::ALL.map(|column| {
        let (cell, width) = (cell(column), column.width());
        match column {
            Column::Program => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        }
    });
    format!("{}\n", cells.join(" ").trim_end())
}
