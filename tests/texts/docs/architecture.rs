//! The picture of the modules, `docs/architecture.svg`, drawn from their order. `UPDATE=1`
//! rewrites it.

use super::{repository, update};
use crate::tidy::FLOORS;
use std::fmt::Write as _;

/// Height of a row and of a box in it, width of a box and of the gap between two, in pixels.
const ROW: usize = 44;
const BOX: usize = 30;
const WIDTH: usize = 132;
const GAP: usize = 12;
/// Left edge of the boxes, beside the arrow.
const LEFT: usize = 150;

/// The highest modules first: an arrow shows the direction of every `use`.
fn picture() -> String {
    let widest = FLOORS.iter().map(|floor| floor.len()).max().unwrap_or_default();
    let (width, height) = (LEFT + widest * (WIDTH + GAP) + GAP, FLOORS.len() * ROW + 20);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         font-family=\"sans-serif\" font-size=\"14\">\n<title>The modules of src/: each uses only modules \
         of lower rows</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    let bottom = height - 22;
    let _ = write!(
        out,
        "<path d=\"M24 20V{bottom}m-6 -9l6 9l6 -9\" fill=\"none\" stroke=\"#3b6ea5\" stroke-width=\"2\"/>\n\
         <text x=\"38\" y=\"36\" fill=\"#3b6ea5\">uses only</text>\n\
         <text x=\"38\" y=\"54\" fill=\"#3b6ea5\">lower rows</text>\n"
    );
    for (row, floor) in FLOORS.iter().rev().enumerate() {
        let top = 10 + row * ROW;
        for (column, module) in floor.iter().enumerate() {
            let left = LEFT + column * (WIDTH + GAP);
            let (middle, base) = (left + WIDTH / 2, top + 20);
            let _ = writeln!(
                out,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{BOX}\" rx=\"4\" \
                 fill=\"#e8f0f8\" stroke=\"#3b6ea5\"/><text x=\"{middle}\" y=\"{base}\" \
                 text-anchor=\"middle\" fill=\"#1d2b3a\">{module}</text>"
            );
        }
    }
    out + "</svg>\n"
}

#[test]
fn the_picture_shows_the_modules() {
    let path = repository("docs/architecture.svg");
    let expected = picture();
    if update() {
        return std::fs::write(&path, expected).expect("the picture is written");
    }
    let text = std::fs::read_to_string(&path).ok();
    assert!(text.as_deref() == Some(&expected), "docs/architecture.svg: UPDATE=1 draws it");
}
