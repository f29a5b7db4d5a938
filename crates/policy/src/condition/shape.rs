//! How deep and how long a condition is, before anything recursive looks at it: the parser and whoever walks through what
//! it made go as deep as the text does, and a stack that overflows ends the program.

/// Brackets within brackets, and operators before operators. A person loses count long before.
const DEPTH_MAX: usize = 16;

/// The signs that operators are made of; a chain of operators is a tree of as many levels.
const OPERATORS_MAX: usize = 256;

/// Looks at a text that may be no condition.
///
/// # Errors
/// It is too deep, or too long a chain.
pub(super) fn check(source: &str) -> Result<(), String> {
    let (mut depth, mut deepest, mut operators) = (0_usize, 0, 0_usize);
    let mut rest = source.chars();
    let mut before = ' ';
    while let Some(c) = rest.next() {
        match c {
            '"' | '\'' => {
                let is_raw = matches!(before, 'r' | 'R');
                while let Some(inner) = rest.next() {
                    match inner {
                        '\\' if !is_raw => _ = rest.next(),
                        inner if inner == c => break,
                        _ => {}
                    }
                }
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '!' | '-' | '&' | '|' | '+' | '*' | '/' | '%' | '<' | '>' | '=' | '?' | '.' => operators += 1,
            _ => {}
        }
        deepest = deepest.max(depth);
        before = c;
    }
    match (deepest > DEPTH_MAX, operators > OPERATORS_MAX) {
        (true, _) => Err(format!("its brackets are more than {DEPTH_MAX} deep; write several rules")),
        (_, true) => Err("it has too many operators; write several rules".to_owned()),
        (false, false) if has_long_run(source) => {
            Err(format!("it has more than {DEPTH_MAX} operators in a row before one value"))
        }
        (false, false) => Ok(()),
    }
}

/// `!!!!…` nests as brackets do.
fn has_long_run(source: &str) -> bool {
    let mut run = 0_usize;
    source.chars().filter(|c| !c.is_whitespace()).any(|c| {
        run = if matches!(c, '!' | '-') { run + 1 } else { 0 };
        run > DEPTH_MAX
    })
}
