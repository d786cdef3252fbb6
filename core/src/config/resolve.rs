//! Puts defaults, file and variables together.

use super::file::FileValue;
use super::input::{may_name_policy, Input};
use super::lookup::same_program;
use super::problem::{Problem, MAX_PROBLEMS};
use super::setting::{Origin, Setting};
use super::table::KEYS;
use super::typed::{build, Config};
use super::{file, vars};

/// The configuration with its history.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub config: Config,
    /// One for each row of the table, in its order.
    pub settings: Vec<Setting>,
    /// In the order file (by line), variables.
    pub problems: Vec<Problem>,
    program: Vec<String>,
}

impl Loaded {
    /// Whether the list `skip` names this program.
    pub fn skipped(&self) -> bool {
        let named = |wanted: &String| self.program.iter().any(|name| same_program(wanted, name));
        self.config.skip.iter().any(named)
    }

    /// Whether the library does anything in this program.
    pub fn active(&self) -> bool {
        !self.config.disable && !self.skipped()
    }
}

/// Puts everything together. Pure, and never fails.
pub fn load(input: &Input) -> Loaded {
    let mut settings: Vec<Setting> = KEYS
        .iter()
        .map(|key| Setting {
            key: key.name,
            value: key.default_value(),
            origin: Origin::Default,
        })
        .collect();
    let mut policy_lost = false;
    let mut problems = apply_file(input, &mut settings, &mut policy_lost);
    problems.extend(apply_vars(input, &mut settings, &mut policy_lost));
    for problem in &mut problems {
        if concerns(problem, &input.program) {
            say_what_is_used(problem, &settings);
        }
    }
    // Cannot fail: the values are checked against the table, and the test
    // `table_and_struct_agree` checks every row of the table against the struct.
    let mut config = build(&settings).expect("table and struct agree");
    if policy_lost && config.tenant.policy.is_none() {
        config.tenant.policy = Some(LOST_POLICY.to_owned());
    }
    Loaded {
        config,
        settings,
        problems,
        program: input.program.clone(),
    }
}

/// Stands for a tenant policy that was meant, but whose name cannot be used: a mistake must not open the door. It is no
/// file, so it counts as a policy that cannot be read. Where it is told, it is told by [`is_lost_policy`].
const LOST_POLICY: &str = "(the configuration's tenant.policy, which is wrong)";
const POLICY_KEY: &str = "tenant.policy";

/// Does this name stand for a policy whose name is wrong in the configuration?
pub fn is_lost_policy(name: &str) -> bool {
    name == LOST_POLICY
}

/// Is one of these problems about the policy's name, or the file no TOML that speaks of one?
fn loses_policy(problems: &[Problem], names: &[String], text: &str) -> bool {
    problems
        .iter()
        .filter(|p| concerns(p, names))
        .any(|p| match p.row {
            Some(row) => KEYS[row].name == POLICY_KEY,
            None => p.key.is_none() && may_name_policy(text),
        })
}

fn apply_file(input: &Input, settings: &mut [Setting], policy_lost: &mut bool) -> Vec<Problem> {
    let Some((path, contents)) = &input.file else {
        return Vec::new();
    };
    let text = match contents {
        Ok(text) => text,
        Err(why) => {
            *policy_lost |= input.policy_in_doubt;
            return vec![unreadable(path, why)];
        }
    };
    let (values, problems) = file::read(path, text);
    let general = values.iter().filter(|v| v.program.is_none());
    for value in general {
        assign_from_file(settings, path, value);
    }
    // The weakest name first, so that the strongest has the last word.
    for name in input.program.iter().rev() {
        let own = |v: &&FileValue| v.program.as_ref().is_some_and(|p| same_program(p, name));
        for value in values.iter().filter(own) {
            assign_from_file(settings, path, value);
        }
    }
    *policy_lost |= loses_policy(&problems, &input.program, text);
    limited(problems, Some(path))
}

fn apply_vars(input: &Input, settings: &mut [Setting], policy_lost: &mut bool) -> Vec<Problem> {
    let (values, problems) = vars::read(&input.vars);
    *policy_lost |= loses_policy(&problems, &input.program, "");
    for var in values {
        settings[var.row].value = var.value;
        settings[var.row].origin = Origin::Var { name: var.name };
    }
    limited(problems, None)
}

fn assign_from_file(settings: &mut [Setting], path: &str, from: &FileValue) {
    let setting = &mut settings[from.row];
    setting.value = from.value.clone();
    setting.origin = Origin::File {
        path: path.to_owned(),
        line: from.line,
        section: from.program.as_deref().map(super::lookup::program_section),
    };
}

fn unreadable(path: &str, why: &str) -> Problem {
    Problem {
        file: Some(path.to_owned()),
        what: why.to_owned(),
        used: "nothing of this file is used".to_owned(),
        ..Problem::default()
    }
}

fn limited(mut problems: Vec<Problem>, file: Option<&str>) -> Vec<Problem> {
    if problems.len() > MAX_PROBLEMS {
        let more = problems.len() - MAX_PROBLEMS;
        problems.truncate(MAX_PROBLEMS);
        problems.push(Problem {
            file: file.map(str::to_owned),
            what: format!("and {more} more"),
            ..Problem::default()
        });
    }
    problems
}

/// Whether a problem is one of this program, and not only of another program's section.
fn concerns(problem: &Problem, names: &[String]) -> bool {
    match &problem.program {
        Some(program) => names.iter().any(|name| same_program(program, name)),
        None => true,
    }
}

/// The consequence of a wrong value.
fn say_what_is_used(problem: &mut Problem, settings: &[Setting]) {
    let Some(row) = problem.row else {
        return;
    };
    let setting = &settings[row];
    if setting.key == POLICY_KEY && setting.origin == Origin::Default {
        problem.used =
            "used: what tenant.on_error says, as for a file that cannot be read".to_owned();
        return;
    }
    problem.used = format!("used: {} ({})", setting.value, setting.origin);
}

impl Default for Config {
    /// The built-in defaults.
    fn default() -> Config {
        load(&Input::default()).config
    }
}
