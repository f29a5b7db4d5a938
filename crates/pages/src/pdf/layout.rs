//! `Layout`: the characters of a page, which a PDF places one by one, as lines of words.

use pdf_extract::{MediaBox, OutputDev, OutputError, Transform};

/// What lies so much higher or lower than what stands before it, in heights of a character, is on another line.
const LINE: f64 = 0.5;

/// The same of a paragraph.
const PARAGRAPH: f64 = 1.8;

/// What lies so much further to the right begins a word. Spaces are often not written.
const WORD: f64 = 0.17;

/// The same of a column.
const COLUMN: f64 = 1.5;

/// What fonts draw as one, and a search does not find.
const LIGATURES: [(&str, &str); 5] =
    [("\u{fb00}", "ff"), ("\u{fb01}", "fi"), ("\u{fb02}", "fl"), ("\u{fb03}", "ffi"), ("\u{fb04}", "ffl")];

#[derive(Debug, Default)]
pub(crate) struct Layout {
    text: String,
    last: Option<Placed>,
}

/// A character, where it ends.
#[derive(Debug, Clone, Copy)]
struct Placed {
    end: (f64, f64),
    height: f64,
}

impl Layout {
    pub(crate) fn text(self) -> String {
        let lines = self.text.lines().map(str::trim_end).collect::<Vec<_>>();
        lines.join("\n").trim().to_owned()
    }

    /// What stands between two characters, of which the second begins at `x` and `y` and runs along `axis`. Text may be turned.
    fn between(last: Placed, (x, y): (f64, f64), axis: (f64, f64), height: f64) -> &'static str {
        let unit = height.max(last.height) * axis.0.hypot(axis.1);
        let (dx, dy) = (x - last.end.0, y - last.end.1);
        let right = (dx * axis.0 + dy * axis.1) / unit;
        let down = (dy * axis.0 - dx * axis.1).abs() / unit;
        // To the left it goes for another line, too.
        if down > PARAGRAPH {
            "\n\n"
        } else if down > LINE || right < -1.0 {
            "\n"
        } else if right > COLUMN {
            "\t"
        } else if right > WORD {
            " "
        } else {
            ""
        }
    }
}

fn apart(character: &str) -> &str {
    LIGATURES.iter().find(|(drawn, _)| *drawn == character).map_or(character, |(_, apart)| apart)
}

impl OutputDev for Layout {
    fn begin_page(
        &mut self,
        _number: u32,
        _paper: &MediaBox,
        _art: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn output_character(
        &mut self,
        at: &Transform,
        width: f64,
        spacing: f64,
        size: f64,
        character: &str,
    ) -> Result<(), OutputError> {
        let begin = (at.m31, at.m32);
        let height = size.abs() * at.m21.hypot(at.m22);
        // A negative size turns the characters, and the way that they run.
        let axis = (at.m11 * size.signum(), at.m12 * size.signum());
        let advance = width * size + spacing;
        let end = (begin.0 + advance * at.m11, begin.1 + advance * at.m12);
        let between = self.last.map_or("", |last| Layout::between(last, begin, axis, height));
        let is_spaced =
            character.starts_with(char::is_whitespace) || self.text.ends_with(char::is_whitespace);
        if between != " " || !is_spaced {
            self.text.push_str(between);
        }
        self.text.push_str(apart(character));
        self.last = Some(Placed { end, height });
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}
