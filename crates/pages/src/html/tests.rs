//! What becomes of HTML, honest and other.

use super::*;

const BASE: &str = "https://a.test/docs/page";

#[track_caller]
fn check(html: &str, as_markdown: &str, as_text: &str) {
    let read = [markdown, text].map(|read| read(html, BASE).expect("read").content);
    assert_eq!(read, [as_markdown, as_text], "{html}");
}

#[test]
fn what_documents_are_made_of() {
    check(
        "<h1>Title</h1><p>One <b>two</b>\n  <i>three</i></p>",
        "# Title\n\nOne **two** *three*",
        "Title\n\nOne two three",
    );
    check(
        "<a href='../x?y=1#z'>to</a> <a href=javascript:alert(1)>not</a>",
        "[to](https://a.test/x?y=1#z) not",
        "to not",
    );
    check(
        "<pre><code class='language-rust'>fn a() {\n    1 &lt; 2\n}</code></pre>",
        "```rust\nfn a() {\n    1 < 2\n}\n```",
        "fn a() {\n    1 < 2\n}",
    );
    check("<ul><li>a<li>b<ol><li>c</ol></ul>", "*   a\n*   b\n    1.  c", "a\nb\nc");
    check(
        "<table><tr><th>A<th>B</tr><tr><td>1<td><a href=x>2</a></tr></table>",
        "| A | B |\n| --- | --- |\n| 1 | [2](https://a.test/docs/x) |",
        "A\tB\n1\t2",
    );
    check(
        "<table><caption>C</caption><tr><th>Version<td>1|0<tr><th>Licence<td>MIT<br>or Apache</table>",
        "C\n\n|  |  |\n| --- | --- |\n| Version | 1\\|0 |\n| Licence | MIT or Apache |",
        "C\nVersion\t1|0\nLicence\tMIT\nor Apache",
    );
    check(
        "<table><thead><tr><td>A<td>B</thead><tbody><tr><td>1<td>2<td>3<tr><td>4</tbody></table>",
        "| A | B |  |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| 4 |",
        "A\tB\n1\t2\t3\n4",
    );
    check("<table><tr><td>left<td>right</table>", "left\n\nright", "left\tright");
    check(
        "<img src=p.png alt=Picture><img src='data:image/png;base64,AA' alt=Inline>",
        "![Picture](https://a.test/docs/p.png)",
        "",
    );
}

#[test]
fn code_is_what_the_page_shows_letter_by_letter() {
    // rustdoc's.
    check(
        "<pre class='rust item-decl'><code>pub fn <a href='/x'>read</a>(buf: &amp;mut [<a href='/y'>u8</a>]) -&gt; \
         <strong>Result</strong>&lt;<em>usize</em>&gt;;</code></pre>",
        "```rust\npub fn read(buf: &mut [u8]) -> Result<usize>;\n```",
        "pub fn read(buf: &mut [u8]) -> Result<usize>;",
    );
    // Sphinx's.
    check(
        "<p>So:<div class='highlight-python notranslate'><div class=highlight><pre><span></span><span class=kn>import</span> \
         a\n\n    b_c()\n</pre></div></div>",
        "So:\n\n```python\nimport a\n\n    b_c()\n```",
        "So:\n\nimport a\n\n    b_c()",
    );
    check("<div class='highlight-default notranslate'><pre>x</pre></div>", "```\nx\n```", "x");
    check("<div class='highlight highlight-source-js'><pre>x</pre></div>", "```js\nx\n```", "x");
    check("<pre><b>ls</b> [<i>OPTION</i>]</pre>", "```\nls [OPTION]\n```", "ls [OPTION]");
    check("<pre>a<br><br>b</pre>", "```\na\n\nb\n```", "a\n\nb");
    check("<pre>```\nx\n````</pre>", "`````\n```\nx\n````\n`````", "```\nx\n````");
    // Nothing but a name goes behind a fence.
    check("<pre class='language-`a'>x</pre>", "```\nx\n```", "x");
    check("<pre> \n</pre>", "", "");
    check("a <code><a href=x>Vec</a>&lt;*T*&gt;</code> b", "a `Vec<*T*>` b", "a Vec<*T*> b");
    check("<a href=x><code>Vec</code></a>", "[`Vec`](https://a.test/docs/x)", "Vec");
    check("<code>`a``b</code>", "``` `a``b ```", "`a``b");
}

#[test]
fn what_is_no_content_is_left_out() {
    let long = ["word"; 50].join(" ");
    let html = format!(
        "<head><title>T</title><style>s</style></head><body><nav>menu</nav><div role=banner>bar</div><main><h1>M</h1>\
         <p>{long}</p><p hidden>secretly</p><p aria-hidden=true>not read</p><script>x()</script><!-- said aside -->\
         <button>Copy</button></main><footer>foot</footer></body>"
    );
    check(&html, &format!("# M\n\n{}", long.trim()), &format!("M\n\n{}", long.trim()));
    assert_eq!(text(&html, BASE).expect("read").title, "T");
    // Too little to be the content.
    check("<p>before</p><main>short</main>", "before\n\nshort", "before\n\nshort");
    check("<noscript>for those without</noscript>", "for those without", "for those without");
    check("", "", "");
}

#[test]
fn of_several_articles_all_are_shown_that_are_the_page() {
    let long = ["word"; 50].join(" ");
    let shown = |html: &str| text(html, BASE).expect("read").content.replace(&long, "long");
    for (html, expected) in [
        ("<p>before<article>a L<article>comment</article></article>", "a long\ncomment"),
        (
            "<h1>Posts</h1><article>a L</article><hr><div><article>b</article></div><article>c L</article>",
            "a long\nb\nc long",
        ),
        ("<main><h1>Posts</h1><article>a L</article><article>b</article></main>", "Posts\n\na long\nb"),
        // The page's own stands in none.
        (
            "<div>own L L</div><article>card L</article><article>card</article>",
            "own long long\ncard long\ncard",
        ),
        ("<p>before<article>a</article><article>b</article>", "before\n\na\nb"),
    ] {
        assert_eq!(shown(&html.replace('L', &long)), expected, "{html}");
    }
}

#[test]
fn frames_are_left_out_and_counted() {
    let frames = |html: &str| {
        let [by_markdown, by_text] = [markdown, text].map(|read| read(html, BASE).expect("read").frames);
        assert_eq!(by_markdown, by_text, "{html}");
        (by_markdown.count, by_markdown.addresses.join(" "))
    };
    let several = (0..7).map(|nth| format!("<iframe src=/{nth}></iframe>")).collect::<String>();
    let first = (0..5).map(|nth| format!("https://a.test/{nth}")).collect::<Vec<_>>().join(" ");
    let long = format!("<iframe src=/{}></iframe>", "x".repeat(300));
    for (html, expected) in [
        ("<p>none</p>", (0, "")),
        (
            "<main><iframe src=in></iframe></main><iframe src='https://b.test/ad'></iframe>",
            (2, "https://b.test/ad https://a.test/docs/in"),
        ),
        ("<frameset><frame src=/a><frame src=/a></frameset>", (2, "https://a.test/a")),
        ("<iframe srcdoc='<p>x' src=/unused></iframe>", (1, "")),
        ("<noscript><iframe src=/count width=0 height=0></iframe></noscript>", (0, "")),
        ("<iframe src=/a hidden></iframe><div hidden><iframe src=/a></iframe></div>", (0, "")),
        ("<iframe></iframe><iframe src=about:blank></iframe><iframe src='javascript:x'></iframe>", (0, "")),
        (&several, (7, &first)),
        (&long, (1, "")),
    ] {
        assert_eq!(frames(html), (expected.0, expected.1.to_owned()), "{html}");
    }
}

/// What no one limits here is limited by the process: only the depth would end it.
#[test]
fn what_is_deep_or_never_ends_is_read() {
    for html in [
        "<div>".repeat(2_000) + "end",
        "<table><tr><td>".repeat(300),
        "<b><i>".repeat(100) + &"x<p>".repeat(100),
        "<div></z>".repeat(1_000),
        "<ul><li>".repeat(1_000),
        "<svg><![CDATA[".repeat(1_000),
        "<?xml x?>".repeat(1000),
        "<".repeat(100_000),
    ] {
        for read in [markdown, text] {
            let Read { content, .. } = read(&html, BASE).expect("read");
            assert!(content.len() <= html.len() * 4, "{html:.20}");
        }
    }
}

#[test]
fn tables_are_as_large_as_what_they_hold() {
    let wide = format!("<table><tr><th>{}{}</table>", "x".repeat(100_000), "<tr><td>y".repeat(2_000));
    let ragged = format!("<table><tr><th>x{}{}</table>", "<td>".repeat(2_000), "<tr><td>y".repeat(2_000));
    let read = |html: &str| markdown(html, BASE).expect("read").content;
    let nameless = |head: &str| {
        format!("<table>{head}<tr><td>{}{}</table>", "x".repeat(100_000), "<tr><td>y".repeat(2_000))
    };
    for table in [wide, ragged, nameless("<thead></thead>"), nameless("<thead><tr></tr></thead>")] {
        assert!(read(&table).len() < 2 * table.len(), "{table:.20}");
    }
    let small = "<table><tr><th>A<tr><td>1</table>";
    let inner = format!("<table><tr><th>B<tr><td>{small}</table>");
    assert_eq!(read(&inner), "| B |\n| --- |\n| A 1 |");
}
