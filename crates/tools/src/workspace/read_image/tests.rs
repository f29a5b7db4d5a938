//! What is refused before any worker starts, case by case. How pictures come out is tried in `images`, and through the whole
//! program end to end.

use expect_test::{Expect, expect};
use testkit::{Workspace, call};

use super::*;

#[track_caller]
fn check(name: &str, bytes: &[u8], expected: Expect) {
    let workspace = Workspace::new("dir/x.txt: x");
    workspace.put(name, bytes);
    let arguments = serde_json::json!({ "file_path": name }).to_string();
    expected.assert_eq(&call(&*tool_api::builtin(ReadImage::new(64)), &workspace, &arguments));
}

#[test]
fn what_is_no_picture_is_refused_by_its_content() {
    check(
        "empty.png",
        b"",
        expect![[r#"
        error not_an_image: empty.png is empty
    "#]],
    );
    check(
        "text.png",
        b"hello",
        expect![[r#"
        error not_an_image: text.png is no picture by its content: PNG, JPEG, GIF, WebP, BMP and TIFF are shown, whatever their names; workspace_read reads other files
    "#]],
    );
    check(
        "report.png",
        b"%PDF-1.7",
        expect![[r#"
        error not_an_image: report.png is no picture by its content (application/pdf): PNG, JPEG, GIF, WebP, BMP and TIFF are shown, whatever their names; workspace_read reads other files
    "#]],
    );
    check(
        "page.svg",
        b"<!DOCTYPE html><html><svg/></html>",
        expect![[r#"
        error not_an_image: page.svg is no picture by its content: PNG, JPEG, GIF, WebP, BMP and TIFF are shown, whatever their names; workspace_read reads other files
    "#]],
    );
    for (name, brand) in [("a.heic", b"heic"), ("b.png", b"mif1"), ("c", b"avif")] {
        let head = [&b"\0\0\0\x1cftyp"[..], brand, b"\0\0\0\0"].concat();
        let workspace = Workspace::new("");
        workspace.put(name, &head);
        let arguments = serde_json::json!({ "file_path": name }).to_string();
        let said = call(&*tool_api::builtin(ReadImage::new(64)), &workspace, &arguments);
        let (kind, mime) = if brand == b"avif" { ("AVIF", "image/avif") } else { ("HEIC", "image/heic") };
        let why = format!(
            "{name} is a picture in a format that is not read: {kind} ({mime}). Convert it to PNG or JPEG first, with what the machine has for that, or ask your user for one"
        );
        assert_eq!(said, format!("error unsupported_image: {why}\n"));
    }
    for svg in [
        &b"<svg xmlns='http://www.w3.org/2000/svg'/>"[..],
        b"\xef\xbb\xbf <?xml version='1.0'?>\n<svg/>",
        b"<!-- made by hand --><svg/>",
    ] {
        check(
            "drawing.png",
            svg,
            expect![[r#"
            error svg: drawing.png is an SVG, which is a text that describes a picture: read it as text with workspace_read, or convert it to PNG first to see it
        "#]],
        );
    }
}

#[test]
fn what_is_no_file_of_the_workspace_is_refused() {
    let refused = |path: &str, expected: Expect| {
        let workspace = Workspace::new("dir/x.txt: x");
        let arguments = serde_json::json!({ "file_path": path }).to_string();
        expected.assert_eq(&call(&*tool_api::builtin(ReadImage::new(64)), &workspace, &arguments));
    };
    refused(
        "dir",
        expect![[r#"
        error not_a_file: dir is not a file but a folder
    "#]],
    );
    refused(
        "none.png",
        expect![[r#"
        error not_found: none.png does not exist
    "#]],
    );
    refused(
        "/etc/passwd",
        expect![[r#"
        error outside_workspace: the path leads outside the workspace; give a path inside it, such as notes.md or /workspace/notes.md
    "#]],
    );
    refused(
        "../x.png",
        expect![[r#"
        error outside_workspace: the path leads outside the workspace; give a path inside it, such as notes.md or /workspace/notes.md
    "#]],
    );
}

#[test]
fn one_that_is_too_large_is_not_read() {
    let workspace = Workspace::new("");
    workspace.put("large.png", &[b"\x89PNG\r\n\x1a\n".to_vec(), vec![0; 64 << 20]].concat());
    let shown = call(&*tool_api::builtin(ReadImage::new(64)), &workspace, r#"{"file_path": "large.png"}"#);
    expect![[r#"
        error too_large: large.png has 67108872 bytes; pictures are shown up to 67108864 bytes, so make a smaller one of it first
    "#]].assert_eq(&shown);
}

#[test]
fn nothing_decodes_where_nothing_can_be_confined() {
    // The stand-in of these tests has no programs.
    check(
        "a.bmp",
        b"\x89PNG\r\n\x1a\n",
        expect![[r#"
        error no_hand: this tool runs no programs: its `ABOUT` does not say that it needs them
    "#]],
    );
}
