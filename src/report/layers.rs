//! The lines about staging directories in a report for people. They count the libraries that come
//! from the stage and from the system, and suggest `--staged` if a directory looks like a stage.

use super::Style;
use super::layout::{count, wrap};
use super::model::{Layers, LikeStage, Report};
use crate::text::{shell_path, show_path};
use std::io::{self, Write};

/// Writes the lines about staging directories.
pub(super) fn write(report: &Report, style: Style, out: &mut dyn Write) -> io::Result<()> {
    if let Some(layers) = &report.layers {
        loaded(layers, style, out)?;
    }
    report.like_stages.iter().try_for_each(|like| like_stage(like, style, out))
}

fn loaded(layers: &Layers, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let Layers { stage, sysroot } = layers;
    if stage.is_empty() && sysroot.is_empty() {
        return Ok(());
    }
    let libraries = count(stage.len(), "library", "libraries");
    writeln!(out, "loaded: {libraries} of the stage, {} of the system", sysroot.len())?;
    if style.verbose {
        for (layer, files) in [("stage", stage), ("system", sysroot)] {
            for file in files {
                writeln!(out, "    {layer:<6}  {}", show_path(&file.0))?;
            }
        }
    }
    Ok(())
}

fn like_stage(like: &LikeStage, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let directory = show_path(&like.directory);
    let text = format!(
        "{} was loaded and not {}. If {directory} is a staging directory, audit it as it will be \
         installed: linkaudit --staged {}",
        show_path(&like.loaded),
        show_path(&like.held),
        shell_path(&like.directory)
    );
    let mut lines = wrap(&text, style.columns(), 6, 6).into_iter();
    let word = style.paint("1;36", "help:");
    writeln!(out, "{word} {}", lines.next().unwrap_or_default())?;
    lines.try_for_each(|line| writeln!(out, "      {line}"))
}
