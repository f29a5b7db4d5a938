//! Questions on their way to a person, and what comes back.

use expect_test::{Expect, expect};
use testkit::call_answering;
use tool_api::builtin;

use super::*;

const FORMS: &str = r#"{"elicitation":{}}"#;

const TWO: &str = r#"[
  {"question": "Which database?", "header": "Database", "options": [{"label": "SQLite"}, {"label": "PostgreSQL", "description": "for several machines"}]},
  {"question": "What else?", "multiSelect": true, "options": [{"label": "Docs"}, {"label": "Tests"}]}
]"#;

#[track_caller]
fn check(questions: &str, capabilities: &'static str, responses: Option<&'static str>, expected: Expect) {
    check_watched(questions, (capabilities, responses, None), expected);
}

/// The same with what somebody at a terminal answers.
#[track_caller]
fn check_watched(
    questions: &str,
    (capabilities, responses, at_terminal): (&'static str, Option<&'static str>, Option<&'static str>),
    expected: Expect,
) {
    let arguments = serde_json::json!({ "questions_json": questions }).to_string();
    let shown = call_answering(&*builtin(AskUserQuestion), capabilities, responses, at_terminal, &arguments);
    expected.assert_eq(&shown);
}

#[track_caller]
fn check_refused(questions: &str, expected: Expect) {
    check(questions, FORMS, None, expected);
}

#[test]
fn a_person_chooses() {
    check(
        TWO,
        FORMS,
        None,
        expect![[r#"
        asks: {"questions":{"method":"elicitation/create","params":{"message":"Asked by the agent: Which database?\nWhat else?","mode":"form","requestedSchema":{"properties":{"q1":{"description":"Which database?","enum":["SQLite","PostgreSQL"],"enumNames":["SQLite","PostgreSQL: for several machines"],"title":"Database","type":"string"},"q1_other":{"description":"In your own words, in place of the choices","maxLength":1000,"title":"Database: another answer","type":"string"},"q2_1":{"description":"What else? — Docs","title":"Docs","type":"boolean"},"q2_2":{"description":"What else? — Tests","title":"Tests","type":"boolean"},"q2_other":{"description":"In your own words, in place of the choices","maxLength":1000,"title":"What else?: another answer","type":"string"}},"type":"object"}}}} asked
    "#]],
    );
    check(
        TWO,
        FORMS,
        Some(
            r#"{"questions":{"action":"accept","content":{"q1":"PostgreSQL","q2_1":true,"q2_2":true,"q2_other":" "}}}"#,
        ),
        expect![[r#"
            text: Which database? PostgreSQL
            What else? Docs, Tests¶
            structured: {"answers":{"What else?":["Docs","Tests"],"Which database?":"PostgreSQL"}}
        "#]],
    );
    check(
        TWO,
        FORMS,
        Some(
            r#"{"questions":{"action":"accept","content":{"q1":"SQLite","q1_other":"neither","q2_1":false}}}"#,
        ),
        expect![[r#"
            text: Which database? neither
            What else? none of them¶
            structured: {"answers":{"What else?":[],"Which database?":"neither"}}
        "#]],
    );
    check(
        &format!(r#"{{"questions": {TWO}}}"#),
        FORMS,
        Some(r#"{"questions":{"action":"accept","content":{"q1":"Oracle"}}}"#),
        expect![[r#"
            text: What else? none of them¶
            structured: {"answers":{"What else?":[]}}
        "#]],
    );
}

#[test]
fn nobody_has_answered() {
    check(
        TWO,
        "{}",
        None,
        expect![[r#"
        error no_user: no user can be asked here: this client shows no questions, and nobody watches at a terminal (`toolcrib approvals watch`); ask in your own text instead
    "#]],
    );
    check(
        TWO,
        r#"{"elicitation":{"url":{}}}"#,
        None,
        expect![[r#"
        error no_user: no user can be asked here: this client shows no questions, and nobody watches at a terminal (`toolcrib approvals watch`); ask in your own text instead
    "#]],
    );
    check(
        TWO,
        FORMS,
        Some(r#"{"questions":{"action":"decline"}}"#),
        expect![[r#"
        error declined: the user does not want to answer; go on as you think best, or stop
    "#]],
    );
    check(
        TWO,
        FORMS,
        Some(r#"{"questions":{"action":"cancel"}}"#),
        expect![[r#"
        error no_answer: nobody has answered: the question was dismissed; go on without, or ask in your own text
    "#]],
    );
    check(
        TWO,
        FORMS,
        Some("{}"),
        expect![[r#"
        error no_answer: nobody has answered: the question was dismissed; go on without, or ask in your own text
    "#]],
    );
    check(
        TWO,
        FORMS,
        Some("["),
        expect![[r#"
        error no_answer: nobody has answered: the question was dismissed; go on without, or ask in your own text
    "#]],
    );
}

#[test]
fn who_watches_at_a_terminal_answers_what_a_client_cannot_ask_or_dismisses() {
    const CANCEL: &str = r#"{"questions":{"action":"cancel"}}"#;
    const DECLINE: &str = r#"{"questions":{"action":"decline"}}"#;
    const CHOSEN: &str = r#"{"questions":{"action":"accept","content":{"q1":"SQLite"}}}"#;
    for (capabilities, responses) in [("{}", None), (FORMS, Some(CANCEL))] {
        check_watched(
            TWO,
            (capabilities, responses, Some(CHOSEN)),
            expect![[r#"
                text: Which database? SQLite
                What else? none of them¶
                structured: {"answers":{"What else?":[],"Which database?":"SQLite"}}
            "#]],
        );
    }
    // Whoever declines has answered, wherever it was.
    for (responses, at_terminal) in [(CANCEL, DECLINE), (DECLINE, CHOSEN)] {
        check_watched(
            TWO,
            (FORMS, Some(responses), Some(at_terminal)),
            expect![[r#"
                error declined: the user does not want to answer; go on as you think best, or stop
            "#]],
        );
    }
}

#[test]
fn what_cannot_be_asked_is_said() {
    check_refused(
        "",
        expect![[r#"
        error invalid_questions: `questions_json` is not of the form [{"question": "…", "options": [{"label": "…"}, {"label": "…"}]}]: EOF while parsing a value at line 1 column 0
    "#]],
    );
    check_refused(
        "[]",
        expect![[r#"
        error invalid_questions: ask 1 to 4 questions, not 0
    "#]],
    );
    check_refused(
        r#"[{"question": "Which?", "#,
        expect![[r#"
        error invalid_questions: `questions_json` is not of the form [{"question": "…", "options": [{"label": "…"}, {"label": "…"}]}]: EOF while parsing a value at line 1 column 24
    "#]],
    );
    check_refused(
        r#"[{"question": "Which?"}]"#,
        expect![[r#"
        error invalid_questions: `questions_json` is not of the form [{"question": "…", "options": [{"label": "…"}, {"label": "…"}]}]: missing field `options` at line 1 column 23
    "#]],
    );
    check_refused(
        r#"[{"question": "Which?", "options": []}]"#,
        expect![[r#"
        error invalid_questions: question 1: give 2 to 4 options, not 0; a free answer can always be given
    "#]],
    );
    check_refused(
        r#"[{"question": "Which?", "options": [{"label": "a"}, {"label": "a"}]}]"#,
        expect![[r#"
        error invalid_questions: question 1: two options are called "a"
    "#]],
    );
    check_refused(
        r#"[{"question": " ", "options": [{"label": "a"}, {"label": "b"}]}]"#,
        expect![[r#"
        error invalid_questions: question 1: its text is empty
    "#]],
    );
    check_refused(
        r#"[{"question": "x", "options": [{"label": "a"}, {"label": ""}]}]"#,
        expect![[r#"
        error invalid_questions: question 1: a label is empty
    "#]],
    );
    check_refused(
        r#"[{"question": "x", "options": ["a", "b"]}]"#,
        expect![[r#"
        error invalid_questions: `questions_json` is not of the form [{"question": "…", "options": [{"label": "…"}, {"label": "…"}]}]: invalid type: string "a", expected an option with a `label`, as an object at line 1 column 34
    "#]],
    );
    let one = r#"{"question": "x", "options": [{"label": "a"}, {"label": "b"}]}"#;
    check_refused(
        &format!("[{one}, {one}]"),
        expect![[r#"
        error invalid_questions: question 2: it was asked before
    "#]],
    );
    check_refused(
        &format!("[{}]", [one; 5].join(",")),
        expect![[r#"
        error invalid_questions: ask 1 to 4 questions, not 5
    "#]],
    );
}
