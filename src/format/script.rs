//! Linker scripts that are installed as a library or archive, such as `libc.so`. The parser finds
//! the files that they name, and the symbols that they request or define. The supported commands
//! are INPUT, GROUP, AS_NEEDED, INCLUDE, SEARCH_DIR, EXTERN, ENTRY, PROVIDE, VERSION, ASSERT and
//! assignments (`ld/ldgram.y`). All other commands are skipped: `script_syntax` finds the commands
//! that a linker refuses.

pub use super::output_format::{OutputFormat, emulation};

/// A file or library that a script names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptName {
    /// A file, by its name or path.
    File(Vec<u8>),
    /// The NAME of a library in `-lNAME`.
    Library(Vec<u8>),
}

/// One item of a script: an input, a comma between inputs, a command, or the start or end of a
/// group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptInput {
    /// A name in the list of INPUT or GROUP.
    Named(ScriptName),
    /// A name in AS_NEEDED inside of INPUT or GROUP, like a library after `--as-needed`.
    AsNeeded(ScriptName),
    /// A comma in the list of INPUT or GROUP. Only GNU ld accepts a comma there. A comma that
    /// directly follows an unquoted name is part of that name. The next item is then the name with
    /// its comma.
    Comma,
    /// `GROUP(`: linkers search the archives up to [`Self::EndGroup`] repeatedly.
    StartGroup,
    /// The end of the list of GROUP.
    EndGroup,
    /// A command that requests or defines symbols, or assigns versions to them.
    Command(ScriptCommand),
    /// `INCLUDE FILE`: the text of another script.
    Include(Vec<u8>),
    /// `SEARCH_DIR(DIR)`, like `-L`.
    SearchDir(Vec<u8>),
}

/// A command that requests or defines symbols, or assigns versions to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptCommand {
    /// `EXTERN(NAME)`, like `--undefined` of linkers.
    Extern(Vec<u8>),
    /// `ENTRY(NAME)`, like `--entry`.
    Entry(Vec<u8>),
    /// `NAME = EXPRESSION;`, like `--defsym`. The stored text has no white space between tokens,
    /// and no semicolon.
    Assign(Vec<u8>),
    /// `PROVIDE(NAME = EXPRESSION)`: assigns if the link refers to NAME and no input defines
    /// NAME.
    Provide(Vec<u8>),
    /// `VERSION { … }`, like `--version-script`. The stored text is the part in the braces.
    Version(Vec<u8>),
    /// `ASSERT(EXPRESSION, "MESSAGE")`, without the message: defines no symbol.
    Assert(Vec<u8>),
    /// An expression that defines no symbol: the value of `.` outside of SECTIONS, or of data such
    /// as `BYTE(EXPRESSION)`.
    Evaluate(Vec<u8>),
    /// The value of `.` in SECTIONS.
    Locate(Vec<u8>),
}

/// The format that a script names with OUTPUT_FORMAT. `None` if the script has no OUTPUT_FORMAT, or
/// if the named format is not in the table.
pub fn output_format(text: &[u8]) -> Option<OutputFormat> {
    OutputFormat::named(&format_name(text)?)
}

/// The name in OUTPUT_FORMAT if it is not in the table of formats.
pub fn unknown_format(text: &[u8]) -> Option<Vec<u8>> {
    format_name(text).filter(|name| OutputFormat::named(name).is_none())
}

fn format_name(text: &[u8]) -> Option<Vec<u8>> {
    tokens(text)?.windows(3).find_map(|three| match three {
        [Token::Word(b"OUTPUT_FORMAT"), Token::Open, Token::Word(name) | Token::Quoted(name)] => {
            Some(name.to_vec())
        }
        _ => None,
    })
}

/// Upper bound, in bytes, for a script: people write such files by hand.
pub const MOST: u64 = 1 << 20;

/// Commands that affect neither inputs nor symbols. Without any other command, a text that begins
/// with one of them is a script too. GNU ld reads the script of an input too late for STARTUP.
const WITHOUT_INPUTS: &[&[u8]] = &[
    b"NOCROSSREFS",
    b"NOCROSSREFS_TO",
    b"OUTPUT",
    b"OUTPUT_ARCH",
    b"OUTPUT_FORMAT",
    b"STARTUP",
    b"TARGET",
];

/// Commands with braces. A text that begins with one of them is a script.
const WITH_BRACES: &[&[u8]] = &[b"MEMORY", b"PHDRS", b"SECTIONS"];

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    Open,
    Close,
    /// A comma.
    Comma,
    /// A semicolon.
    End,
    /// `{` if true, `}` if false.
    Brace(bool),
    Word(&'t [u8]),
    Quoted(&'t [u8]),
}

impl<'t> Token<'t> {
    /// The quote character around the token (empty if there is none), and the text of the token.
    pub(super) fn text(&self) -> (&'static [u8], &'t [u8]) {
        match self {
            Self::Open => (b"", b"("),
            Self::Close => (b"", b")"),
            Self::Comma => (b"", b","),
            Self::End => (b"", b";"),
            Self::Brace(true) => (b"", b"{"),
            Self::Brace(false) => (b"", b"}"),
            Self::Word(text) => (b"", text),
            Self::Quoted(text) => (b"\"", text),
        }
    }

    pub(super) fn is_name(&self) -> bool {
        matches!(self, Self::Word(_) | Self::Quoted(_))
    }

    /// True if a statement may follow the token.
    pub(super) fn ends_statement(&self) -> bool {
        matches!(self, Self::End | Self::Close | Self::Brace(_))
    }
}

/// The inputs and commands of a script, in the order of the text. `None` if the text is not a valid
/// script, or has none of the supported commands. A text of comments is a script without inputs.
pub fn inputs(text: &[u8]) -> Option<Vec<ScriptInput>> {
    parse(text).filter(|(_, known)| *known).map(|(found, _)| found)
}

/// The inputs and commands of a text that a script includes. The list may be empty: the text may be
/// only a comment, or a command such as OUTPUT_ARCH. `None` if the text is not a valid script.
pub fn included(text: &[u8]) -> Option<Vec<ScriptInput>> {
    parse(text).map(|(found, _)| found)
}

/// The inputs and commands of a script. The flag is true if the text has one of the supported
/// commands. `None` if the text is not a valid script.
fn parse(text: &[u8]) -> Option<(Vec<ScriptInput>, bool)> {
    let tokens = tokens(text)?;
    let mut out = Vec::new();
    // `depth` is the number of open parentheses. `list` is the depth at which the current list of
    // inputs starts, and `is_group` is true if it is the list of GROUP.
    let (mut depth, mut list, mut is_group) = (0_usize, None, false);
    // `as_needed` is the depth at which the current list of AS_NEEDED starts.
    let mut as_needed = None;
    let mut known = tokens.is_empty() && !text.is_empty();
    let mut before: Option<&[u8]> = None;
    // `braces` is the number of open braces. Inside braces, only SECTIONS has assignments.
    let (mut braces, mut is_sections) = (0_usize, false);
    for (at, token) in tokens.iter().enumerate() {
        let rest = &tokens[at + 1..];
        match token {
            Token::Open => {
                depth += 1;
                if matches!(before, Some(b"INPUT" | b"GROUP")) && list.is_none() {
                    (list, known) = (Some(depth), true);
                    is_group = matches!(before, Some(b"GROUP"));
                    out.extend(is_group.then_some(ScriptInput::StartGroup));
                } else if before == Some(b"AS_NEEDED") && list.is_some() {
                    as_needed = Some(depth);
                } else if depth == 1
                    && let Some(keyword) = before.filter(|_| braces == 0 || is_sections)
                {
                    let found = in_parentheses(keyword, rest);
                    let is_first = at.checked_sub(2).is_none_or(|at| tokens[at].ends_statement());
                    known |= !found.is_empty() || is_first && WITHOUT_INPUTS.contains(&keyword);
                    out.extend(found);
                }
                before = None;
            }
            Token::Close => {
                if list == Some(depth) {
                    list = None;
                    out.extend(is_group.then_some(ScriptInput::EndGroup));
                }
                as_needed = as_needed.filter(|start| *start != depth);
                depth = depth.checked_sub(1)?;
                before = None;
            }
            Token::Brace(open) => {
                let is_first = at.checked_sub(2).is_none_or(|at| tokens[at].ends_statement());
                if braces == 0 && before == Some(b"VERSION") {
                    known |= is_first;
                    let len = len_until(rest, (&Token::Brace(true), &Token::Brace(false)));
                    let text = spaced(&rest[..len]);
                    out.push(ScriptInput::Command(ScriptCommand::Version(text)));
                }
                known |=
                    is_first && braces == 0 && before.is_some_and(|w| WITH_BRACES.contains(&w));
                // INSERT follows the braces of SECTIONS.
                known |=
                    is_sections && braces == 1 && !*open && rest.first().is_some_and(is_insert);
                is_sections = if braces == 0 { before == Some(b"SECTIONS") } else { is_sections };
                braces = if *open { braces + 1 } else { braces.saturating_sub(1) };
                before = None;
            }
            Token::Word(word) => {
                let word = *word;
                out.extend(word.contains(&b',').then_some(ScriptInput::Comma));
                if list.is_some() && word != b"AS_NEEDED" {
                    let name = match word.strip_prefix(b"-l") {
                        Some(name) => ScriptName::Library(name.to_vec()),
                        None => ScriptName::File(word.to_vec()),
                    };
                    out.push(named(name, as_needed.is_some()));
                } else if depth == 0 && (braces == 0 || is_sections) {
                    let found = statement(word, rest, braces == 0);
                    // In other texts, such as C, another word may precede an assignment.
                    let is_first = at.checked_sub(1).is_none_or(|at| tokens[at].ends_statement());
                    known |= is_first && found.is_some();
                    out.extend(found);
                }
                before = Some(word);
            }
            Token::Quoted(name) => {
                if list.is_some() {
                    out.push(named(ScriptName::File(name.to_vec()), as_needed.is_some()));
                } else if depth == 0 && (braces == 0 || is_sections) {
                    let found = assignment(name, rest).map(ScriptInput::Command);
                    known |= found.is_some();
                    out.extend(found);
                }
                before = None;
            }
            Token::Comma if list.is_some() => {
                let last = at.checked_sub(1).and_then(|at| tokens.get(at));
                let is_after = last.is_some_and(|last| last.is_name() || *last == Token::Close);
                if !is_after || !rest.first().is_some_and(Token::is_name) {
                    return None;
                }
                out.push(ScriptInput::Comma);
            }
            Token::Comma | Token::End => {}
        }
    }
    (depth == 0).then_some((out, known))
}

fn named(name: ScriptName, as_needed: bool) -> ScriptInput {
    if as_needed { ScriptInput::AsNeeded(name) } else { ScriptInput::Named(name) }
}

/// The command without parentheses that begins with `word`: INCLUDE outside of braces, or an
/// assignment. `None` otherwise.
fn statement(word: &[u8], rest: &[Token<'_>], is_outside: bool) -> Option<ScriptInput> {
    match rest {
        [Token::Word(file) | Token::Quoted(file), ..] if word == b"INCLUDE" && is_outside => {
            Some(ScriptInput::Include(file.to_vec()))
        }
        _ => {
            let found = assignment(word, rest)?;
            Some(ScriptInput::Command(match found {
                ScriptCommand::Assign(text) if word == b"." => {
                    let value = text.strip_prefix(b".=").unwrap_or(&text).to_vec();
                    if is_outside {
                        ScriptCommand::Evaluate(value)
                    } else {
                        ScriptCommand::Locate(value)
                    }
                }
                other => other,
            }))
        }
    }
}

pub(super) fn is_insert(token: &Token<'_>) -> bool {
    *token == Token::Word(b"INSERT")
}

/// True if a script has INSERT. GNU ld has not read the named sections yet when it reads the script
/// of an input.
pub fn has_insert(text: &[u8]) -> bool {
    let tokens = tokens(text).unwrap_or_default();
    tokens.windows(2).any(|two| two[0] == Token::Brace(false) && is_insert(&two[1]))
}

/// True if a script has INCLUDE inside of braces, such as those of SECTIONS.
pub fn includes_in_braces(text: &[u8]) -> bool {
    let tokens = tokens(text).unwrap_or_default();
    let mut braces = 0_usize;
    tokens.windows(2).any(|two| {
        match two[0] {
            Token::Brace(true) => braces += 1,
            Token::Brace(false) => braces = braces.saturating_sub(1),
            _ => {}
        }
        let is_first = two[0].ends_statement();
        braces > 0 && is_first && two[1] == Token::Word(b"INCLUDE")
    })
}

/// True if a script drops sections.
pub fn discards(text: &[u8]) -> bool {
    tokens(text).unwrap_or_default().contains(&Token::Word(b"/DISCARD/"))
}

/// The number of tokens before the end of the parentheses or braces of `pair`. `tokens` begin after
/// the start.
pub(super) fn len_until(tokens: &[Token<'_>], (start, end): (&Token<'_>, &Token<'_>)) -> usize {
    let mut depth = 1_usize;
    let is_end = |token: &Token<'_>| {
        if token == start {
            depth += 1;
        } else if token == end {
            depth -= 1;
        }
        depth == 0
    };
    tokens.iter().position(is_end).unwrap_or(tokens.len())
}

/// The commands that begin with `keyword`. `tokens` begin after the opening parenthesis.
fn in_parentheses(keyword: &[u8], tokens: &[Token<'_>]) -> Vec<ScriptInput> {
    let inside = &tokens[..len_until(tokens, (&Token::Open, &Token::Close))];
    let mut words = inside.iter().filter_map(|token| match token {
        Token::Word(word) | Token::Quoted(word) => Some(word.to_vec()),
        _ => None,
    });
    let commands: Vec<ScriptCommand> = match keyword {
        b"SEARCH_DIR" => return words.next().map(ScriptInput::SearchDir).into_iter().collect(),
        b"EXTERN" => words.map(ScriptCommand::Extern).collect(),
        b"ENTRY" => words.next().map(ScriptCommand::Entry).into_iter().collect(),
        b"PROVIDE" | b"PROVIDE_HIDDEN" => vec![ScriptCommand::Provide(assigned(inside))],
        // Linkers report the undefined symbols of the expression before the message, which is last.
        b"ASSERT" => {
            let end = inside.iter().rposition(|token| *token == Token::Comma);
            vec![ScriptCommand::Assert(joined(&inside[..end.unwrap_or(inside.len())]))]
        }
        b"BYTE" | b"SHORT" | b"LONG" | b"QUAD" | b"SQUAD" => {
            vec![ScriptCommand::Evaluate(joined(inside))]
        }
        b"HIDDEN" => vec![ScriptCommand::Assign(assigned(inside))],
        _ => Vec::new(),
    };
    commands.into_iter().map(ScriptInput::Command).collect()
}

/// The length of the operator of an assignment that begins `text`, if its value follows directly.
fn glued_operator(text: &[u8]) -> Option<usize> {
    let at = text.iter().take(3).position(|byte| *byte == b'=')?;
    operator(&text[..=at])?;
    let is_value = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.$".contains(byte);
    text.get(at + 1).is_some_and(is_value).then_some(at + 1)
}

/// The number of tokens of the expression with which `tokens` begin.
pub(super) fn len_of_expression(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    let is_end = |token: &Token<'_>| {
        match token {
            Token::Open => depth += 1,
            Token::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        match token {
            Token::Comma => depth == 0,
            token => matches!(token, Token::End | Token::Brace(_) | Token::Word(b"=")),
        }
    };
    tokens.iter().position(is_end).unwrap_or(tokens.len())
}

/// The operator before the `=` of an assignment, such as `+` or nothing. `None` for other words.
pub(super) fn operator(word: &[u8]) -> Option<&[u8]> {
    let operator = word.strip_suffix(b"=")?;
    matches!(operator, b"" | b"+" | b"-" | b"*" | b"/" | b"&" | b"|" | b"<<" | b">>")
        .then_some(operator)
}

/// The assignment to the symbol `name`, if `tokens` begin with `=` or with an operator such as
/// `+=`, whose expression refers to the symbol too. A semicolon ends the assignment, or a comma in
/// GNU ld.
fn assignment(name: &[u8], tokens: &[Token<'_>]) -> Option<ScriptCommand> {
    let [Token::Word(word), rest @ ..] = tokens else { return None };
    let operator = operator(word)?;
    let own = if operator.is_empty() { Vec::new() } else { [name, operator].concat() };
    let len = len_of_expression(rest);
    let text = || [name, b"=", &*own, &joined(&rest[..len])].concat();
    matches!(rest.get(len), Some(Token::End | Token::Comma)).then(|| ScriptCommand::Assign(text()))
}

/// The text of an assignment, whose first token is the name of the symbol.
fn assigned(tokens: &[Token<'_>]) -> Vec<u8> {
    match tokens {
        [Token::Quoted(name), rest @ ..] => [name, &*joined(rest)].concat(),
        _ => joined(tokens),
    }
}

/// The text of tokens, with a space after each.
fn spaced(tokens: &[Token<'_>]) -> Vec<u8> {
    tokens
        .iter()
        .flat_map(|token| [joined(std::slice::from_ref(token)), b" ".to_vec()].concat())
        .collect()
}

/// The text of tokens without white space.
pub(super) fn joined(tokens: &[Token<'_>]) -> Vec<u8> {
    let text = |token: &Token<'_>| {
        let (quote, text) = token.text();
        [quote, text, quote].concat()
    };
    tokens.iter().flat_map(text).collect()
}

/// Words, punctuation and quoted names. `None` if a comment or a quoted name has no end, or if a
/// NUL stands outside of comments and quoted names. In INPUT and GROUP, a comma does not end a word
/// (`INPUTLIST` in `ld/ldlex.l`).
pub(super) fn tokens(text: &[u8]) -> Option<Vec<Token<'_>>> {
    let mut out = Vec::new();
    let (mut at, mut depth, mut list) = (0, 0_usize, None);
    while let Some(byte) = text.get(at) {
        let rest = &text[at..];
        let len = match byte {
            b'/' if rest.starts_with(b"/*") => {
                2 + rest[2..].windows(2).position(|two| two == b"*/")? + 2
            }
            b'#' => rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len()),
            b'"' => {
                let len = rest[1..].iter().position(|b| *b == b'"')?;
                out.push(Token::Quoted(&rest[1..=len]));
                len + 2
            }
            b'(' => {
                depth += 1;
                let is_list = matches!(out.last(), Some(Token::Word(b"INPUT" | b"GROUP")));
                list = list.or(is_list.then_some(depth));
                out.push(Token::Open);
                1
            }
            b')' => {
                list = list.filter(|start| *start != depth);
                depth = depth.saturating_sub(1);
                out.push(Token::Close);
                1
            }
            b',' | b';' | b'{' | b'}' => {
                out.push(match byte {
                    b',' => Token::Comma,
                    b';' => Token::End,
                    byte => Token::Brace(*byte == b'{'),
                });
                1
            }
            byte if byte.is_ascii_whitespace() => 1,
            0 => return None,
            // Outside of parentheses, `x =3` is `x = 3`. In parentheses, `=/dir` begins a path.
            _ if depth == 0 && glued_operator(rest).is_some() => {
                let len = glued_operator(rest)?;
                out.push(Token::Word(&rest[..len]));
                len
            }
            _ => {
                let end = |b: &u8| {
                    b.is_ascii_whitespace()
                        || b"();{}\"\0".contains(b)
                        || *b == b',' && list.is_none()
                };
                let len = rest.iter().position(end).unwrap_or(rest.len());
                out.push(Token::Word(&rest[..len]));
                len
            }
        };
        at += len;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{ScriptCommand, ScriptInput, ScriptName, inputs, output_format};

    fn file(name: &str) -> ScriptInput {
        ScriptInput::Named(ScriptName::File(name.into()))
    }

    #[test]
    fn what_libraries_are() {
        let text = b"/* GNU ld script */\nOUTPUT_FORMAT(elf64-x86-64)\n\
            GROUP ( /lib/libc.so.6 libc_nonshared.a \"a b.a\" AS_NEEDED ( -lfoo ld.so ) )\n\
            INPUT(x.a)";
        let found = inputs(text).expect("a script");
        let foo = ScriptInput::AsNeeded(ScriptName::Library(b"foo".to_vec()));
        let loader = ScriptInput::AsNeeded(ScriptName::File(b"ld.so".to_vec()));
        let names = ["/lib/libc.so.6", "libc_nonshared.a", "a b.a"].map(file);
        assert_eq!(found[0], ScriptInput::StartGroup);
        assert_eq!(found[1..4], names);
        assert_eq!(found[4..], [foo, loader, ScriptInput::EndGroup, file("x.a")]);
    }

    #[test]
    fn commas_in_lists() {
        let found = inputs(b"INPUT(a.a , b,c.a)\nx = MAX(1,2);").expect("a script");
        let (comma, max) = (ScriptInput::Comma, ScriptCommand::Assign(b"x=MAX(1,2)".to_vec()));
        let expected =
            [file("a.a"), comma.clone(), comma, file("b,c.a"), ScriptInput::Command(max)];
        assert_eq!(found, expected);
        for text in ["INPUT(, a.a)", "INPUT(a.a ,)", "GROUP(a.a , , b.a)"] {
            assert_eq!(inputs(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn commands_about_symbols() {
        let text = b"EXTERN(a, \"b\") ENTRY(main)\nc = d + MAX(1, 2);\nINPUT(x.a)\n\
            PROVIDE ( e = (f) );\nSECTIONS { g = .; .x : { . = ALIGN(4); h = i; *(.x) } }\n\
            MEMORY { rom : ORIGIN = 0, LENGTH = 1; }";
        let command = |input: &ScriptInput| match input {
            ScriptInput::Command(command) => Some(command.clone()),
            _ => None,
        };
        let found = inputs(text).expect("a script");
        assert_eq!(found[4], file("x.a"));
        let found: Vec<ScriptCommand> = found.iter().filter_map(command).collect();
        let assign = |text: &str| ScriptCommand::Assign(text.into());
        let expected = [
            ScriptCommand::Extern(b"a".to_vec()),
            ScriptCommand::Extern(b"b".to_vec()),
            ScriptCommand::Entry(b"main".to_vec()),
            assign("c=d+MAX(1,2)"),
            ScriptCommand::Provide(b"e=(f)".to_vec()),
            assign("g=."),
            ScriptCommand::Locate(b"ALIGN(4)".to_vec()),
            assign("h=i"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn formats_of_outputs() {
        let name = |text: &str| output_format(text.as_bytes()).map(|format| format.name);
        assert_eq!(name("GROUP(a.a) OUTPUT_FORMAT(elf32-i386)"), Some("elf32-i386"));
        let three = "OUTPUT_FORMAT(\"elf64-x86-64\", \"elf64-x86-64\", \"elf64-x86-64\")";
        assert_eq!(name(three), Some("elf64-x86-64"));
        assert_eq!(name("OUTPUT_FORMAT(pe-i386) INPUT(a.a)"), None);
        assert_eq!(name("INPUT(a.a)"), None);
    }

    #[test]
    fn scripts_without_inputs() {
        let assign = |text: &str| ScriptInput::Command(ScriptCommand::Assign(text.into()));
        let found = inputs(b"/* rom */\nf = 0x1000;\ng = 0x1004;\n");
        assert_eq!(found, Some(vec![assign("f=0x1000"), assign("g=0x1004")]));
        assert_eq!(inputs(b"\"f\" = \"g\";"), Some(vec![assign("f=\"g\"")]));
        let provide = ScriptInput::Command(ScriptCommand::Provide(b"f=1".to_vec()));
        assert_eq!(inputs(b"PROVIDE(\"f\" = 1);"), Some(vec![provide]));
        let found = inputs(b"SEARCH_DIR(\"=/d\"); INCLUDE rom.ld");
        let dir = ScriptInput::SearchDir(b"=/d".to_vec());
        assert_eq!(found, Some(vec![dir, ScriptInput::Include(b"rom.ld".to_vec())]));
        let found = inputs(b"VERSION { V1 { global: p; local: *; }; };");
        let version = ScriptCommand::Version(b"V1 { global: p ; local: * ; } ; ".to_vec());
        assert_eq!(found, Some(vec![ScriptInput::Command(version)]));
        assert_eq!(inputs(b"SECTIONS { .x : { *(.x) } }"), Some(Vec::new()));
        let found = inputs(b". = g; ASSERT(h, \"no h\") SECTIONS { . = 4; .x : { BYTE(i) } }");
        let commands = [
            ScriptCommand::Evaluate(b"g".to_vec()),
            ScriptCommand::Assert(b"h".to_vec()),
            ScriptCommand::Locate(b"4".to_vec()),
            ScriptCommand::Evaluate(b"i".to_vec()),
        ];
        assert_eq!(found, Some(commands.map(ScriptInput::Command).to_vec()));
    }

    #[test]
    fn what_is_none() {
        let none = ["", "hello (world)", "INPUT(a", "INPUT a)", "/* INPUT(a)", "INPUT(\"a)"];
        for text in none.into_iter().chain(["int f = 1;", "f = 1", "INCLUDE", "the VERSION { 1 }"])
        {
            assert_eq!(inputs(text.as_bytes()), None, "{text}");
        }
        assert_eq!(inputs(b"INPUT(a\0b)"), None);
        assert_eq!(inputs(b"INPUT()"), Some(Vec::new()));
    }
}
