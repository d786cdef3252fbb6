//! `cmshim explain`.

mod answer;
mod errnos;
mod functions;
mod lookup;

use cmshim_core::explain::{list, Row};
use serde_json::json;

use crate::args::ExplainArgs;
use crate::failure::Failure;
use crate::output;

pub fn explain(args: &ExplainArgs) -> Result<u8, Failure> {
    let text = if args.list {
        all(args.json)
    } else {
        let answers = lookup::answers(args)?;
        answer::render(&answers, args.json)
    };
    output::print(&text)?;
    Ok(0)
}

fn all(as_json: bool) -> String {
    let rows = list();
    if as_json {
        let object = |row: &Row| json!({"kind": row.kind, "number": row.number, "name": row.name, "summary": row.summary});
        let rows: Vec<_> = rows.iter().map(object).collect();
        return format!("{:#}\n", json!(rows));
    }
    let width = rows.iter().map(|r| r.name.len()).max().unwrap_or(0);
    rows.iter()
        .map(|r| {
            let number = r.number.map(|n| n.to_string()).unwrap_or_default();
            format!(
                "{:6} {number:>3} {:width$}  {}\n",
                r.kind, r.name, r.summary
            )
        })
        .collect()
}
