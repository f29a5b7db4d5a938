//! PDFs made here, whole and broken.

use super::*;

/// A PDF whose pages draw this, with what its trailer says beside.
fn pdf(pages: &[&str], trailer: &str) -> Vec<u8> {
    let kids: String = (0..pages.len()).map(|nth| format!("{} 0 R ", 4 + 2 * nth)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {} /MediaBox [0 0 600 800] >>", pages.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding << /Differences [1 /fi] >> >>"
            .to_owned(),
    ];
    for (nth, drawn) in pages.iter().enumerate() {
        let fonts = "/Resources << /Font << /F 3 0 R >> >>";
        objects.push(format!("<< /Type /Page /Parent 2 0 R {fonts} /Contents {} 0 R >>", 5 + 2 * nth));
        objects.push(format!("<< /Length {} >>\nstream\n{drawn}\nendstream", drawn.len()));
    }
    objects.push("<< /Title (A title) >>".to_owned());
    let (mut file, mut table) = ("%PDF-1.4\n".to_owned(), String::new());
    for (nth, object) in objects.iter().enumerate() {
        table += &format!("{:010} 00000 n \n", file.len());
        file += &format!("{} 0 obj\n{object}\nendobj\n", nth + 1);
    }
    let (at, count) = (file.len(), objects.len() + 1);
    file += &format!("xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n");
    file += &format!("<< /Size {count} /Root 1 0 R /Info {} 0 R {trailer} >>\n", objects.len());
    (file + &format!("startxref\n{at}\n%%EOF\n")).into_bytes()
}

/// Draws these words, each so far to the right and up.
fn words(placed: &[(i32, i32, &str)]) -> String {
    let draw = |(x, y, word): &(i32, i32, &str)| format!("BT /F 10 Tf {x} {y} Td ({word}) Tj ET\n");
    placed.iter().map(draw).collect()
}

#[test]
fn pages_have_numbers_and_lines() {
    let first = words(&[
        (50, 700, "One two"),
        (50, 688, "next"),
        (80, 688, "column"),
        (150, 676, "indented"),
        (50, 640, "paragraph"),
        (99, 640, "word"),
    ]);
    let file = pdf(&[&first, "", &words(&[(50, 700, "last")])], "");
    let Read { title, content, .. } = text(&file).expect("read");
    assert_eq!(title, "A title");
    let expected = "## Page 1\n\nOne two\nnext column\nindented\n\nparagraph word\n\n\
                    ## Page 2\n\n[this page shows no text]\n\n## Page 3\n\nlast\n\n";
    assert_eq!(content, expected);
}

/// Along whichever way the characters stand, they are words and lines.
#[test]
fn turned_text_is_read_as_it_stands() {
    for placed in [
        "/F 10 Tf 0 1 -1 0 300 100 Tm (One two) Tj 0 -12 Td (next) Tj",
        "/F 10 Tf 0 -1 1 0 300 400 Tm (One two) Tj 0 -12 Td (next) Tj",
        "/F 10 Tf -1 0 0 -1 300 400 Tm (One two) Tj 0 -12 Td (next) Tj",
        "/F 10 Tf 7 7 -7 7 300 400 Tm (One two) Tj 0 -12 Td (next) Tj",
        "/F -10 Tf -1 0 0 -1 300 400 Tm (One two) Tj 0 12 Td (next) Tj",
    ] {
        let Read { content, .. } = text(&pdf(&[&format!("BT {placed} ET")], "")).expect("read");
        assert_eq!(content, "## Page 1\n\nOne two\nnext\n\n", "{placed}");
    }
}

#[test]
fn what_is_drawn_as_one_is_found_again() {
    let Read { content, .. } = text(&pdf(&["BT /F 10 Tf 50 700 Td (of\\001ce) Tj ET"], "")).expect("read");
    assert_eq!(content, "## Page 1\n\noffice\n\n");
}

#[test]
fn what_cannot_be_shown_says_why() {
    let page = words(&[(50, 700, "text")]);
    let whole = pdf(&[&page], "");
    let locked = pdf(&[&page], "/Encrypt << /Filter /Standard /V 1 /R 2 /P 0 /O (x) /U (y) >> /ID [(a) (b)]");
    for (file, expected) in [
        (&b""[..], Fault::Pdf),
        (b"%PDF-1.4", Fault::Pdf),
        (&whole[..whole.len() / 2], Fault::Pdf),
        (&locked, Fault::Encrypted),
        (&pdf(&[], ""), Fault::NoPages),
        (&pdf(&["1 0 0 RG 0 0 9 9 re f", ""], ""), Fault::NoText { read: 2, of: 2 }),
    ] {
        assert_eq!(text(file), Err(expected), "{}", String::from_utf8_lossy(file));
    }
}

#[test]
fn only_so_many_pages_are_read() {
    let page = words(&[(50, 700, "text")]);
    let most = PAGES_MAX as usize;
    let Read { content, .. } = text(&pdf(&vec![&*page; most + 10], "")).expect("read");
    assert!(content.ends_with("[only the first 500 of 510 pages have been read]\n"), "{content:.100}");
    // What is said of no text is said of them alone.
    let why = text(&pdf(&vec![""; most + 10], "")).map(|_| ()).map_err(|fault| fault.to_string());
    let expected =
        "no text was found on the first 500 of its 510 pages: they may be pictures, which are not read";
    assert_eq!(why, Err(expected.to_owned()));
}

/// Whatever is wrong with a file, it is read or refused.
#[test]
fn broken_files_are_read_or_refused() {
    let whole = pdf(&[&words(&[(50, 700, "One two"), (50, 688, "next")]), ""], "");
    // Marsaglia's, with a seed of ours.
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below as u64).expect("small")
    };
    let mut read = 0;
    for _ in 0..400 {
        let mut file = whole.clone();
        match random(3) {
            0 => file.truncate(random(whole.len())),
            _ => (0..1 + random(8)).for_each(|_| file[random(whole.len())] ^= 1 << random(8)),
        }
        read += usize::from(text(&file).is_ok());
    }
    assert!((1..400).contains(&read), "{read}");
}
