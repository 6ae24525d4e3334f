//! Tables of names with their descriptions.

use comfy_table::{ContentArrangement, Table, presets};

/// Makes an empty table without border lines. Cells are wrapped so that the table fits `width`
/// columns. `width` is `None` if stdout is not a terminal; cells are then not wrapped.
pub(super) fn table(width: Option<usize>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    if let Some(width) = width.and_then(|width| u16::try_from(width).ok()) {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    table
}
