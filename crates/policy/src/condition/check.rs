//! Reads a condition before it is ever evaluated: finds what cannot be right in it, notes what it depends on, compiles
//! its patterns, and puts a count into its loops.

use cel::Program;
use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue, SelectExpr, operators};

use super::error;
use super::hidden::Hidden;
use super::scripts::{WORDS_MAX, odd_word};
use super::variables::{BASE, Field, PATTERN, SCRIPTS, STEP, Sort, fields_of};
use crate::near::{did_you_mean, nearest};

/// Loops within loops. More of them would be a program.
const LOOPS_DEEP_MAX: usize = 2;

/// Levels of a condition once it is read: whoever evaluates it goes as deep, on the thread that reads the request.
const LEVELS_MAX: usize = 40;

/// The functions a condition may call.
const FUNCTIONS: &str =
    "size contains startsWith endsWith matches isUnder runs commands string int uint double bool type dyn";

/// The names of types, for `type(x) == string`.
const TYPES: [&str; 8] = ["string", "int", "uint", "double", "bool", "list", "map", "null_type"];

/// What a condition depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    /// The arguments.
    pub(crate) args: bool,
    /// The time.
    pub(crate) now: bool,
    /// Anything of the caller.
    pub(crate) caller: bool,
}

/// What was read.
pub(super) struct Read {
    pub(super) expression: IdedExpr,
    pub(super) uses: Uses,
    /// The arguments it looks at, as keys from the top; for trying it.
    pub(super) paths: Vec<Vec<String>>,
}

/// Reads a program. `patterns` takes those that it has.
///
/// # Errors
/// The first thing that cannot be right, with its place.
pub(super) fn read(program: &Program, source: &str, patterns: &mut Vec<Hidden>) -> Result<Read, String> {
    let mut expression = program.expression().clone();
    let mut reading = Reading {
        patterns,
        bound: Vec::new(),
        uses: Uses::default(),
        paths: Vec::new(),
        loops: 0,
        levels: 0,
    };
    match reading.expression(&mut expression) {
        Ok(()) => Ok(Read { expression, uses: reading.uses, paths: reading.paths }),
        Err((id, what)) => Err(place(program, source, id) + &what),
    }
}

fn place(program: &Program, source: &str, id: u64) -> String {
    let Some((start, _)) = program.source_info().offset_for(id) else { return String::new() };
    let before: String = source.chars().take(start as usize).collect();
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    error::place(source, before.matches('\n').count() + 1, column)
}

/// The node at fault, and what is wrong with it.
type Fault = (u64, String);

struct Reading<'a> {
    patterns: &'a mut Vec<Hidden>,
    /// The variables of the loops around.
    bound: Vec<String>,
    uses: Uses,
    paths: Vec<Vec<String>>,
    loops: usize,
    levels: usize,
}

impl Reading<'_> {
    fn expression(&mut self, node: &mut IdedExpr) -> Result<(), Fault> {
        let id = node.id;
        let fault = |what: &str| Err((id, what.to_owned()));
        if let Some(path) = argument_path(node) {
            self.paths.push(path);
        }
        if self.levels == LEVELS_MAX {
            return Err((id, format!("it is more than {LEVELS_MAX} levels deep; write several rules")));
        }
        self.levels += 1;
        let read = match &mut node.expr {
            Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => self.variable(name).map_err(|what| (id, what)),
            Expr::Select(select) => self.select(select, id),
            Expr::Call(call) => self.call(call, id),
            Expr::List(list) => list.elements.iter_mut().try_for_each(|element| self.expression(element)),
            Expr::Map(_) | Expr::Struct(_) => {
                fault("a condition makes no tables; compare their members one by one")
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, id),
            Expr::Unspecified => fault("this is no expression"),
        };
        self.levels -= 1;
        read
    }

    fn variable(&mut self, name: &str) -> Result<(), String> {
        if self.bound.iter().any(|bound| bound == name) || TYPES.contains(&name) {
            return Ok(());
        }
        match name {
            "args" => self.uses.args = true,
            "caller" => self.uses.caller = true,
            "now" => self.uses.now = true,
            "tool" => {}
            _ => {
                let more = did_you_mean(name, ["args", "caller", "tool", "now"], || {
                    "there are `caller`, `tool`, `args` and `now`".to_owned()
                });
                return Err(format!("unknown variable `{name}`; {more}"));
            }
        }
        Ok(())
    }

    fn select(&mut self, select: &mut SelectExpr, id: u64) -> Result<(), Fault> {
        let field = select.field.as_str();
        if field.contains('.') {
            // The name of the whole is looked up with dots between its parts, so it would mean something else.
            return Err((id, format!("a name with a dot in it needs brackets: `[\"{field}\"]`")));
        }
        if let Expr::Ident(root) = &select.operand.expr {
            let known: Vec<&str> = fields_of(root).map(|field| field.name).collect();
            if !known.is_empty() && !known.contains(&field) {
                let more =
                    did_you_mean(field, known.iter().copied(), || format!("it has {}", known.join(", ")));
                return Err((id, format!("`{root}` has no `{field}`; {more}")));
            }
        }
        self.expression(&mut select.operand)
    }

    fn call(&mut self, call: &mut CallExpr, id: u64) -> Result<(), Fault> {
        if let Some(what) = odd_function(call).or_else(|| odd_comparison(call)) {
            return Err((id, what));
        }
        if call.func_name == "runs" {
            words(call, id)?;
        }
        let is_matches = call.func_name == "matches";
        if is_matches {
            self.pattern(call, id)?;
        }
        call.target.iter_mut().try_for_each(|target| self.expression(target))?;
        let written = call.args.len() - usize::from(is_matches);
        call.args[..written].iter_mut().try_for_each(|node| self.expression(node))?;
        let hidden = match call.func_name.as_str() {
            "isUnder" => BASE,
            "runs" | "commands" => SCRIPTS,
            _ => return Ok(()),
        };
        call.args.push(IdedExpr { id, expr: Expr::Ident(hidden.to_owned()) });
        Ok(())
    }

    /// A pattern that came with the arguments could be made to cost much, so it must stand in the rule.
    fn pattern(&mut self, call: &mut CallExpr, id: u64) -> Result<(), Fault> {
        let Some(last) = call.args.last_mut() else {
            return Err((id, "`matches` needs a pattern".to_owned()));
        };
        let Expr::Literal(LiteralValue::String(text)) = &last.expr else {
            return Err((last.id, "the pattern of `matches` must be a text written in the rule".to_owned()));
        };
        let pattern = Hidden::pattern(text.inner()).map_err(|what| (last.id, what))?;
        last.expr = Expr::Ident(format!("{PATTERN}{}", self.patterns.len()));
        self.patterns.push(pattern);
        Ok(())
    }

    fn comprehension(&mut self, comprehension: &mut ComprehensionExpr, id: u64) -> Result<(), Fault> {
        if self.loops == LOOPS_DEEP_MAX {
            return Err((id, format!("there are more than {LOOPS_DEEP_MAX} loops within each other")));
        }
        let name = &comprehension.iter_var;
        if name == "args" || fields_of(name).next().is_some() {
            let what =
                format!("`{name}` has a meaning already; call the variable of the loop something else");
            return Err((id, what));
        }
        self.expression(&mut comprehension.iter_range)?;
        self.expression(&mut comprehension.accu_init)?;
        let before = self.bound.len();
        self.bound.extend([comprehension.iter_var.clone(), comprehension.accu_var.clone()]);
        self.bound.extend(comprehension.iter_var2.clone());
        self.loops += 1;
        self.expression(&mut comprehension.loop_cond)?;
        self.expression(&mut comprehension.loop_step)?;
        self.expression(&mut comprehension.result)?;
        self.loops -= 1;
        self.bound.truncate(before);
        count_steps(comprehension);
        Ok(())
    }
}

/// Words that came with the arguments could ask for anything, so they must stand in the rule.
fn words(call: &CallExpr, id: u64) -> Result<(), Fault> {
    if !(1..=WORDS_MAX).contains(&call.args.len()) {
        let what = format!("`runs` takes a program and at most {} sub-commands", WORDS_MAX - 1);
        return Err((id, what));
    }
    call.args.iter().try_for_each(|arg| {
        let Expr::Literal(LiteralValue::String(word)) = &arg.expr else {
            return Err((arg.id, "the words of `runs` must be texts written in the rule".to_owned()));
        };
        odd_word(word.inner()).map_or(Ok(()), |why| Err((arg.id, why.to_owned())))
    })
}

/// Puts the request for a step where an error ends the loop at once.
fn count_steps(comprehension: &mut ComprehensionExpr) {
    if !matches!(comprehension.loop_cond.expr, Expr::Literal(_)) {
        return counted(&mut comprehension.loop_cond);
    }
    // `map` and `filter` run in a faster way as long as their condition is a plain `true`.
    match &mut comprehension.loop_step.expr {
        Expr::Call(call) if call.func_name == operators::CONDITIONAL => {
            if let Some(guard) = call.args.first_mut() {
                counted(guard);
            }
        }
        Expr::Call(call) if call.func_name == operators::ADD => {
            match call.args.last_mut().map(|last| &mut last.expr) {
                Some(Expr::List(list)) => list.elements.iter_mut().for_each(counted),
                _ => counted(&mut comprehension.loop_cond),
            }
        }
        _ => counted(&mut comprehension.loop_cond),
    }
}

/// `@step ? node : false`: without a step left the name has no value, which no operator around it forgives.
fn counted(node: &mut IdedExpr) {
    let id = node.id;
    let inner = std::mem::take(node);
    let step = IdedExpr { id, expr: Expr::Ident(STEP.to_owned()) };
    let no = IdedExpr { id, expr: Expr::Literal(LiteralValue::Boolean(false.into())) };
    let call =
        CallExpr { func_name: operators::CONDITIONAL.to_owned(), target: None, args: vec![step, inner, no] };
    *node = IdedExpr { id, expr: Expr::Call(call) };
}

/// The keys from the top of the arguments that an expression names.
fn argument_path(node: &IdedExpr) -> Option<Vec<String>> {
    let (operand, key) = match &node.expr {
        Expr::Select(select) => (&*select.operand, select.field.as_str()),
        Expr::Call(call) if call.func_name == operators::INDEX => match &call.args[..] {
            [operand, IdedExpr { expr: Expr::Literal(LiteralValue::String(key)), .. }] => {
                (operand, key.inner())
            }
            _ => return None,
        },
        _ => return None,
    };
    let mut path = match &operand.expr {
        Expr::Ident(root) if root == "args" => Vec::new(),
        _ => argument_path(operand)?,
    };
    path.push(key.to_owned());
    Some(path)
}

/// What an expression is bound to give, if that is plain to see.
fn sort(node: &IdedExpr) -> Option<Sort> {
    match &node.expr {
        Expr::Literal(literal) => match literal {
            LiteralValue::String(_) => Some(Sort::Text),
            LiteralValue::Boolean(_) => Some(Sort::Flag),
            LiteralValue::Int(_) | LiteralValue::UInt(_) | LiteralValue::Double(_) => Some(Sort::Number),
            LiteralValue::Bytes(_) | LiteralValue::Null => None,
        },
        Expr::List(_) => Some(Sort::List),
        Expr::Call(call) if call.func_name == "size" => Some(Sort::Number),
        Expr::Select(select) if !select.test => field(select).map(|field| field.sort),
        _ => None,
    }
}

/// A comparison that gives the same whatever comes: of things of two sorts, or with a word that there is not.
fn odd_comparison(call: &CallExpr) -> Option<String> {
    let [left, right] = &call.args[..] else { return None };
    match call.func_name.as_str() {
        operators::EQUALS | operators::NOT_EQUALS => {
            unknown_word(left, right).or_else(|| unknown_word(right, left)).or_else(|| two_sorts(left, right))
        }
        operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS => {
            two_sorts(left, right)
        }
        operators::IN => match &right.expr {
            Expr::List(list) => list
                .elements
                .iter()
                .find_map(|element| unknown_word(left, element).or_else(|| two_sorts(left, element))),
            _ => unknown_word(right, left),
        },
        _ => None,
    }
}

fn two_sorts(left: &IdedExpr, right: &IdedExpr) -> Option<String> {
    let (left, right) = (sort(left)?, sort(right)?);
    (left != right).then(|| format!("{} is compared with {}", left.named(), right.named()))
}

/// The field of ours that an expression names.
fn field(SelectExpr { operand, field, .. }: &SelectExpr) -> Option<&'static Field> {
    let Expr::Ident(root) = &operand.expr else { return None };
    fields_of(root).find(|known| known.name == field)
}

fn unknown_word(select: &IdedExpr, word: &IdedExpr) -> Option<String> {
    let Expr::Select(select) = &select.expr else { return None };
    let Expr::Literal(LiteralValue::String(word)) = &word.expr else { return None };
    let (field, word) = (field(select).filter(|field| !field.words.is_empty())?, word.inner());
    if field.words.contains(&word) {
        return None;
    }
    let more = match nearest(word, field.words.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("it is one of {}", field.words.join(", ")),
    };
    Some(format!("`{}.{}` is never \"{word}\"; {more}", field.root, field.name))
}

/// A function that there is not, or one that is asked of nothing.
fn odd_function(call: &CallExpr) -> Option<String> {
    let name = call.func_name.as_str();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        let is_optional = name.contains('?') && name != operators::CONDITIONAL;
        return is_optional.then(|| "optional values are not for conditions; use has(…)".to_owned());
    }
    if !FUNCTIONS.split(' ').any(|known| known == name) {
        let more = did_you_mean(name, FUNCTIONS.split(' '), || {
            format!(
                "there are {}, has, all, exists, exists_one, map and filter",
                FUNCTIONS.replace(' ', ", ")
            )
        });
        return Some(format!("unknown function `{name}`; {more}"));
    }
    let how = match name {
        "isUnder" => "`isUnder` is asked of a path, as in `args.path.isUnder('docs')`",
        "runs" => "`runs` is asked of a command, as in `args.command.runs('git', 'push')`",
        "commands" => "`commands` is asked of a command, as in `args.command.commands()`",
        _ => return None,
    };
    call.target.is_none().then(|| how.to_owned())
}
