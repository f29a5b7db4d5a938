//! What is wrong with `[policy]`, each at its place.

use expect_test::expect;

use super::check_refused;

#[test]
fn rules_are_refused_at_their_place() {
    check_refused(
        r#"
[policy]
deny = ["a", ""]
[[policy.rules]]
id = "fine"
effect = "deny"
when = """
has(args.path) &&
  arg.path == 'x'"""
[[policy.rules]]
id = "fine"
effect = "allow"
tools = ["ok", "git_["]
scopes = ["netwrk"]
approval_lasts = "8d"
"#,
        expect![[r#"
            toolcrib.toml:3:14: policy.deny: "" cannot be used: it is empty; write `*` for every tool
            toolcrib.toml:7:8: policy rule "fine": when: line 2, column 3: unknown variable `arg`; did you mean `args`?
            toolcrib.toml:11:6: policy rule "fine": another rule has this id; each needs its own; the first stands at toolcrib.toml:5:6
            toolcrib.toml:13:16: policy rule "fine": tools: "git_[" cannot be used: unclosed character class; missing ']'
            toolcrib.toml:14:11: policy rule "fine": scopes: unknown scope "netwrk"; did you mean "network"
            toolcrib.toml:15:18: policy rule "fine": approval_lasts: only a rule that asks has `approval_lasts`
            toolcrib.toml:15:18: policy rule "fine": approval_lasts: "8d" cannot be used: write a time between "10s" and "7d""#]],
    );
}

#[test]
fn keys_and_words_of_rules_are_checked() {
    check_refused(
        r#"
[[policy.rules]]
id = "more"
effect = "permit"
rolls = ["owner"]
[[policy.tests]]
name = "one"
tool = "x"
expect = "yes"
"#,
        expect![[r#"
            toolcrib.toml:4:10: policy.rules[0].effect must be one of "allow", "ask", "deny"
            toolcrib.toml:5:1: unknown key `rolls` in [policy.rules[0]]; did you mean `roles`?
            toolcrib.toml:9:10: policy.tests[0].expect must be one of "allow", "ask", "deny""#]],
    );
}
