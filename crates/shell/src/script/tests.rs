//! What is seen of texts, case by case: those that run `git push`, those that do not, and those of which it cannot be told.

use std::time::{Duration, Instant};

use super::*;
use crate::unclear::BYTES_MAX;

fn pushes(text: &str) -> Result<bool, Unclear> {
    Script::read(text).runs("git", &["push"])
}

#[track_caller]
fn check(texts: &[&str], expected: Result<bool, Unclear>) {
    for text in texts {
        assert_eq!(pushes(text), expected, "{text}");
    }
}

/// What runs it.
const RUNNING: &[&str] = &[
    "git push",
    "git push origin main 2>/dev/null || true",
    "/usr/bin/git push",
    "\\git push",
    "'git' pu\"\"sh",
    "g'i't \"push\"",
    "git \\\n  push",
    "git push\\\n origin",
    "env X=1 git push",
    "env -i -u HOME X=1 /usr/bin/git push",
    "X=1 Y=2 git push",
    "sudo git push",
    "sudo -u me -nE git push",
    "sudo X=1 git push",
    "command git push",
    "command -p git push",
    "exec -a x git push",
    "nohup nice -n 5 git push &",
    "timeout -s KILL 5 git push",
    "timeout -k5 10m git push",
    "stdbuf -oL git push",
    "time -p git push",
    "! time git push",
    "coproc git push",
    "setsid -w git push",
    "busybox env git push",
    "bash -c 'git push'",
    "bash -lc 'cd x && git push'",
    "sh -e -c \"git push\" name",
    "bash -c \"bash -c 'git push'\"",
    "bash --norc -c 'git push'",
    "eval git push",
    "eval 'git push; ls'",
    "a && git push | tee x",
    "ls; git push",
    "ls\ngit push",
    "(cd x; git push) &",
    "{ git push; }",
    "echo $(git push)",
    "echo \"$(git push)\"",
    "echo `git push`",
    "echo \"`git push`\"",
    "X=$(git push)",
    "X=$(git push) ls",
    "a=(1 $(git push))",
    "echo ${x:-$(git push)}",
    "echo $((1 + $(git push)))",
    "diff <(git push) x",
    "tee >(git push)",
    "[[ -n $(git push) ]]",
    "if git push; then :; fi",
    "while git push; do :; done < f",
    "for x in a b; do git push; done",
    "for x in $(git push); do :; done",
    "case $x in a) git push;; esac",
    "f() { git push; }",
    "function f { git push; }; f",
    "cat <<'EOF' | git push\n$(x)\nEOF",
    "git push <<< \"$x\"",
    "cat <<EOF\n$(git push)\nEOF",
    ">out git push",
    "git -C x push",
    "git -C \"a b\" --no-pager push -f",
    "git --git-dir=x --work-tree y push",
    "git -c user.name=x push",
    "git-push",
    "/usr/lib/git-core/git-push origin",
    "find . -name x -exec git push \\;",
    "find . -exec echo {} \\; -execdir git push {} +",
    "xargs git push",
    "xargs -n 1 -P4 git push",
    "xargs --max-lines git push",
    "eval -- git push",
    "git --shallow-file x push",
    "find . -exec git push {} + -exec ls \\;",
    "time time git push",
    // Whatever else there is.
    "git push; $X",
    "git push \"$X\"",
    "git push # comment",
];

#[test]
fn whatever_runs_it_is_seen() {
    check(RUNNING, Ok(true));
}

/// What does not, though it may look so.
const RUNNING_OTHERS: &[&str] = &[
    "",
    "git pull",
    "git",
    "git status && echo push",
    "echo git push",
    "echo 'git push'",
    "git commit -m push",
    "git commit -m \"$MSG\"",
    "git stash push",
    "git -C push status",
    "git log --grep push",
    "push git",
    "# git push",
    "ls # git push",
    "X='git push'",
    "gitpush",
    "git.exe push",
    "cat <<'EOF'\ngit push\n$(git push)\nEOF",
    "cat > f <<EOF\ngit push\nEOF",
    "cat <<< 'git push'",
    "bash script.sh",
    "bash -c 'git pull' push",
    "env",
    "sudo -u git ls push",
    "timeout 5 ls",
    "command -v git",
    "make push",
    "python3 -c 'git push'",
    "xargs -n 1 ls",
    "find . -name '*.rs'",
    "[ -f push ] && test -f git",
    "export A=1; unset B",
    "echo \"a <(git push) \\$(git push)\"",
    "awk '{print $(1)}' f",
    "x=\"$(awk '{print $(NF)}' f)\"",
    "git rebase main",
    "git bisect good",
    "find . -exec echo {} +",
    "echo {}",
    "[[ -n 'x' ]] && ((1 + 1))",
    "sh -c '[ -n x ]'",
    "git commit -m 'a\n\nb'",
    "ls \\\n -l",
    "git checkout -b push",
    "ls *.rs ~/x $HOME",
];

#[test]
fn what_runs_something_else_is_told_apart() {
    check(RUNNING_OTHERS, Ok(false));
}

/// What cannot be told, by why.
const UNCLEAR: &[(Unclear, &[&str])] = &[
    (
        Unclear::Name,
        &[
            "sh -c \"\\$'git' push\"",
            "$GIT push",
            "\"$GIT\" push",
            "$(echo git) push",
            "`x` push",
            "g* push",
            "~/git push",
            "$'git' push",
            "find /usr/bin/git -exec '{}' push \\;",
            "coproc X { git push; }",
            "$X git push",
            "f() { \"$@\"; }; f git push",
        ],
    ),
    (
        Unclear::Word,
        &[
            "echo push | xargs git",
            "git $X",
            "git $OPTIONS push",
            "git -C x \"$X\"",
            "git p*",
            "git $'push'",
            "git {push,pull}",
            "git pu$X",
            "env $X git push",
            "nohup g{it,}",
            "exec -l ${X}x",
            "sudo \"$X\"",
            "bash -c \"git $X\"",
            "bash <(echo git push)",
            "find push -exec git '{}' \\;",
            "find . -exec git $X + push \\;",
            "git rebase \"$X\"",
            "git submodule $X",
            "find . $X",
        ],
    ),
    (
        Unclear::Elsewhere,
        &[
            "curl x | bash",
            "bash <<'EOF'\ngit push\nEOF",
            "bash <<< 'git push'",
            "bash < f",
            "sh -",
            "bash /dev/stdin",
            "eval \"$X\"",
            "echo git push | xargs",
            "git submodule foreach 'git push'",
            "git bisect run git push",
            "git rebase -x 'git push' main",
            "git rebase -i --exec 'git push'",
            "git rebase --exe='git push'",
            "git filter-branch --msg-filter 'git push'",
            "xargs env",
            "ls | xargs bash -c",
        ],
    ),
    (
        Unclear::Names,
        &[
            "alias g=git; g push",
            "source f; g push",
            ". ./f",
            "trap 'git push' EXIT",
            "PATH=.:$PATH g push",
            "export PATH=x",
            "env LD_PRELOAD=x ls",
            "sudo PATH=x ls",
            "GIT_CONFIG_COUNT=1 git p",
            "git -c alias.p=push p",
            "git -cAlias.p=push p",
            "git --config-env=alias.p=X p",
            "git --exec-path=x p",
            "su -c 'git push'",
            "zsh -c 'git push'",
            "taskset 1 git push",
            "npx git push",
            "uv run git push",
            "fd x -x git push",
            "mapfile -C 'git push'",
            "PS4='$(git push)'",
            "PROMPT_COMMAND='git push'",
            "git -c help.autocorrect=1 pus",
            "watch 'git push'",
            "parallel git ::: push",
        ],
    ),
    (
        Unclear::Option,
        &[
            "eval -x git push",
            "xargs --max-lines=3 git push",
            "env -S 'git push'",
            "sudo -s git push",
            "timeout --odd 5 git push",
            "bash -ic 'git push'",
            "xargs -I x git x",
        ],
    ),
    (
        Unclear::Syntax,
        &[
            "git push (",
            "gi\\\nt push",
            "git pu\\\nsh",
            "git>out push",
            "git <<'EOF' push\nx\nEOF",
            "exec 3>&1 git push",
            "{git,push}",
            "if git push",
            "'git push",
            "git push\0",
            "git push\r",
            "cat <<-EOF\n\t$(git push)\n\tEOF",
            "cat <<-EOF\n\t`git push`\n\tEOF",
            "ls\n\\git push",
            "ls\n\\\ngit push",
            "ls\n\\\\\\\ngit push",
            "a=\\\n git push",
            "export a\n\\git push",
            "cat ${x:-`git push`}",
            "echo ${x%$(git push)}",
            "echo \"${x##$(git push)}\"",
            "echo \"${x:-'$(git push)'}\"",
            "echo \"${x:-$'$(git push)'}\"",
            "cat ${x:-<(git push)}",
            "echo `echo \\`git push\\``",
            "time X=1 git push",
            "time ! git push",
            "time if true; then git push; fi",
            "coproc X=1 git push",
            "coproc while true; do git push; done",
            "coproc X while true; do git push; done",
            "echo $(('a[$(git push)]'))",
            "a['$(git push)']=1",
            "[[ 'a[$(git push)]' -eq 1 ]]",
            "(( 'a[`git push`]' ))",
            "echo $(( \"a[\\$(git push)]\" ))",
            "echo >&'$(git push)'",
            "echo \"${x@P}\"",
            "let 'a[$(git push)]'",
            "test -v 'a[$(git push)]'",
            "declare 'a[$(git push)]=1'",
            "sh -c '((git push))'",
            "dash -c '[[ x && git push ]]'",
            "sh -c \"eval '((git push))'\"",
            "bash -c",
        ],
    ),
];

#[test]
fn where_it_cannot_be_told_it_says_why() {
    let all = UNCLEAR.iter().flat_map(|(why, texts)| texts.iter().map(move |text| (*text, Err(*why))));
    let wrong: Vec<_> =
        all.filter(|(text, why)| pushes(text) != *why).map(|(text, _)| (text, pushes(text))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn words_are_found_behind_options_or_it_is_not_told() {
    for (text, words, expected) in [
        ("npm run build", &["run", "build"][..], Ok(true)),
        ("npm run test", &["run", "build"], Ok(false)),
        ("npm run", &["run", "build"], Ok(false)),
        ("npm --prefix=x run build", &["run", "build"], Ok(true)),
        ("npm --silent run build", &["run", "build"], Err(Unclear::Option)),
        ("npm --silent ci", &["run", "build"], Ok(false)),
        ("npm -- run build", &["run", "build"], Ok(true)),
        ("npm run build --x y", &["run", "build"], Ok(true)),
        ("npm", &[], Ok(true)),
        ("npm $X", &[], Ok(true)),
        ("npm -a -b -c -d -e -f -g -h -i -j -k -l -m run", &["x"], Err(Unclear::Option)),
    ] {
        assert_eq!(Script::read(text).runs("npm", words), expected, "{text}");
    }
}

#[test]
fn all_names_are_told_or_none() {
    for (text, expected) in [
        (
            "cd x && sudo /bin/ls -l | grep y; echo $(date)",
            Ok(&["cd", "sudo", "ls", "grep", "echo", "date"][..]),
        ),
        ("bash -c 'a; b'", Ok(&["bash", "a", "b"])),
        ("", Ok(&[])),
        ("ls; $X", Err(Unclear::Name)),
        ("ls (", Err(Unclear::Syntax)),
    ] {
        assert_eq!(Script::read(text).names(), expected.map(<[_]>::to_vec), "{text}");
    }
}

#[test]
fn much_is_not_looked_at() {
    let long = format!("{}git push", "ls\n".repeat(BYTES_MAX / 3));
    check(&[&long], Err(Unclear::Long));
    let many = "git x\n".repeat(1_001);
    check(&[&many], Err(Unclear::Much));
    let mut deep = "git push".to_owned();
    for _ in 0..5 {
        deep = format!("eval {}", deep.replace('\\', "\\\\").replace(' ', "\\ "));
    }
    check(&[&deep], Err(Unclear::Much));
    check(&[&format!("{}git push", "env ".repeat(17))], Err(Unclear::Much));
    check(&[&format!("{}git push", "env ".repeat(16))], Ok(true));
    check(&[&format!("{}git push", "find . -exec ".repeat(17))], Err(Unclear::Much));
}

/// Texts that keep a parser busy, and whatever comes.
#[test]
fn no_text_takes_long() {
    let mut seed = 7_u32;
    let mut random = || {
        seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        seed >> 16
    };
    let pieces = [
        "<",
        "|",
        "${x",
        "$(",
        "`",
        "(",
        "{ ",
        "'",
        "\"",
        "\\",
        "\n",
        "if ",
        "case x in ",
        "a&&",
        "f(){ ",
        "<<A\n",
        "$((",
        "[[ ",
        ";",
        "git push ",
        "bash -c '",
        "eval ",
        "$",
        ">",
        "&",
    ];
    let mut texts: Vec<String> = pieces.iter().map(|piece| piece.repeat(BYTES_MAX / piece.len())).collect();
    texts.extend(
        ["nice ", "xargs ", "find . -exec ", "$(('$(' "].map(|piece| piece.repeat(BYTES_MAX / piece.len())),
    );
    texts.push(format!("{}{}", "env ".repeat(1_000), "a ".repeat(6_190)));
    for length in [50, 500, 3_000] {
        for _ in 0..20 {
            texts.push((0..length).map(|_| pieces[random() as usize % pieces.len()]).collect());
        }
    }
    for text in &texts {
        let began = Instant::now();
        let found = pushes(text);
        let took = began.elapsed();
        assert!(took < Duration::from_millis(500), "{took:?}, {found:?}: {}", &text[..text.len().min(60)]);
    }
}
