//! Adds the inputs and commands of linker scripts to a link. `cli::archive` calls this module.

use super::nesting::Nesting;
use super::scripts::ExpandedScripts;
use super::versions::ReadVersions;
use crate::cover::{self, DefsymOption};
use crate::format::script::ScriptCommand;
use crate::text::show;
use crate::views::archive::{LinkArgument, PositionalOption, TypedLink};
use anyhow::{Context as _, Result, bail};
use std::path::PathBuf;

/// Fails if the expression of a symbol has the symbol itself as an operand, and nothing assigned it
/// before. lld then evaluates the expression again with each result, and most results do not
/// converge (`LinkerScript::assignAddresses`). GNU ld uses the value that the inputs define.
pub(super) fn refuse_own_operands(link: &TypedLink) -> Result<()> {
    if link.linker != cover::Linker::Lld {
        return Ok(());
    }
    for (at, defined) in link.defined.iter().enumerate().filter(|(_, defined)| !defined.provided) {
        let name = &defined.name;
        let is_assigned = link.defined[..at].iter().any(|earlier| earlier.name == *name);
        // lld accepts `f = f`.
        let is_operand = defined.refers.contains(name) && !defined.copied.contains(name);
        if is_operand && !is_assigned {
            bail!(
                "{}: lld may find no value for an expression that has its own symbol",
                show(name)
            );
        }
    }
    Ok(())
}

/// Adds the files that replace one input, each as `item`, and the commands of the input's scripts.
/// A GROUP of a script becomes `--start-group` and `--end-group`, except inside a `--start-group`
/// of the command line. OUTPUT_FORMAT replaces the format of `-m`.
pub(super) fn add_inputs(
    link: &mut TypedLink,
    inputs: &ExpandedScripts,
    item: fn(PathBuf) -> LinkArgument,
    nesting: &Nesting,
) -> Result<()> {
    link.emulation = inputs.format.or(link.emulation);
    let in_group = nesting.groups > 0;
    for (at, file) in inputs.files.iter().enumerate() {
        inputs.commands_before(at).try_for_each(|command| add_command(link, command))?;
        if !in_group && inputs.begins_group(at) {
            link.items.push(LinkArgument::Position(PositionalOption::StartGroup));
        }
        let is_as_needed = inputs.is_as_needed(at) && !nesting.modes.as_needed;
        let option = |option| is_as_needed.then_some(LinkArgument::Position(option));
        link.items.extend(option(PositionalOption::AsNeeded));
        link.items.push(item(file.clone()));
        link.items.extend(option(PositionalOption::NoAsNeeded));
        if !in_group && inputs.ends_group(at) {
            link.items.push(LinkArgument::Position(PositionalOption::EndGroup));
        }
    }
    inputs.commands_before(inputs.files.len()).try_for_each(|command| add_command(link, command))
}

/// Adds a command of a linker script. GNU ld sets the entry point before it reads the script, so
/// ENTRY has no effect. GNU ld requests the names of EXTERN at the position of the script.
fn add_command(link: &mut TypedLink, command: &ScriptCommand) -> Result<()> {
    let is_gnu = link.linker == cover::Linker::Gnu;
    match command {
        ScriptCommand::Extern(name) if is_gnu => {
            let position = PositionalOption::Request(link.requested.len());
            link.items.push(LinkArgument::Position(position));
            link.requested.push(name.as_slice().into());
        }
        ScriptCommand::Extern(name) => link.undefined.push(name.as_slice().into()),
        ScriptCommand::Entry(name) if !is_gnu => {
            link.entry.get_or_insert_with(|| name.as_slice().into());
        }
        ScriptCommand::Entry(_) => {}
        ScriptCommand::Version(text) => {
            link.has_version_script = true;
            let read = ReadVersions::new(text, ("VERSION of a script", true), link.linker);
            if let Some(error) = read.refused {
                bail!("{error}");
            }
            link.assumed.extend(read.assumed);
            link.versioned.extend(read.names);
        }
        ScriptCommand::Assign(text) | ScriptCommand::Provide(text) => {
            let defined = DefsymOption::parse(text, link.linker);
            let provided = matches!(command, ScriptCommand::Provide(_));
            add_expression(
                link,
                defined.map(|defined| DefsymOption { provided, ..defined }),
                text,
            )?;
        }
        ScriptCommand::Assert(text) => {
            let assumed = "ASSERT of a linker script: assumed to be true";
            if !link.assumed.iter().any(|known| known == assumed) {
                link.assumed.push(assumed.to_owned());
            }
            add_expression(link, DefsymOption::nameless(text, link.linker), text)?;
        }
        ScriptCommand::Evaluate(text) => {
            add_expression(link, DefsymOption::nameless(text, link.linker), text)?;
        }
        ScriptCommand::Locate(text) => {
            let defined = DefsymOption::nameless(text, link.linker);
            let is_moving = defined.as_ref().is_some_and(|of| !of.refers.is_empty());
            if is_moving && link.linker == cover::Linker::Lld {
                bail!("linker script: lld may find no address for `. = {}`", show(text));
            }
            add_expression(link, defined, text)?;
        }
    }
    Ok(())
}

/// Adds an expression of a linker script, whose text is `text`, at the position of the script.
fn add_expression(link: &mut TypedLink, of: Option<DefsymOption>, text: &[u8]) -> Result<()> {
    let of = of.with_context(|| format!("linker script: `{}` is not an expression", show(text)))?;
    let position = PositionalOption::Define(link.defined.len());
    link.items.push(LinkArgument::Position(position));
    link.defined.push(of);
    Ok(())
}
