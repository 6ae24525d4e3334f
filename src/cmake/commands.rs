//! Evaluates the commands that set variables, define targets or include files. An unknown command
//! may set the variables that its arguments name, so the values of these variables become
//! unknown.

use super::eval::{Eval, Flow, bytes};
use super::parsed::Parsed;
use super::state::Text;
use super::value::{ArgumentWord, MaybeText, Truth, items, joined, known};
use super::{EventKind, PathEntry, modules};
use crate::tree::without_dots;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

/// Commands that are assumed to set no variables. The `target_…` commands still change a target.
const SILENT: [&str; 31] = [
    "add_compile_definitions",
    "add_compile_options",
    "add_custom_command",
    "add_custom_target",
    "add_definitions",
    "add_dependencies",
    "add_link_options",
    "add_test",
    "cmake_minimum_required",
    "cmake_policy",
    "define_property",
    "enable_language",
    "enable_testing",
    "include_directories",
    "install",
    "link_directories",
    "mark_as_advanced",
    "set_directory_properties",
    "set_source_files_properties",
    "set_tests_properties",
    "source_group",
    "target_compile_definitions",
    "target_compile_features",
    "target_compile_options",
    "target_link_directories",
    "target_link_options",
    "target_precompile_headers",
    "target_sources",
    "variable_watch",
    "cmake_print_variables",
    "feature_summary",
];

/// All commands of CMake 3.25 (`cmake --help-command-list`).
const OF_CMAKE: &str = " add_compile_definitions add_compile_options add_custom_command add_custom_target add_definitions \
add_dependencies add_executable add_library add_link_options add_subdirectory add_test \
aux_source_directory block break build_command build_name cmake_host_system_information cmake_language \
cmake_minimum_required cmake_parse_arguments cmake_path cmake_policy configure_file continue \
create_test_sourcelist ctest_build ctest_configure ctest_coverage ctest_empty_binary_directory \
ctest_memcheck ctest_read_custom_files ctest_run_script ctest_sleep ctest_start ctest_submit ctest_test \
ctest_update ctest_upload define_property else elseif enable_language enable_testing endblock endforeach \
endfunction endif endmacro endwhile exec_program execute_process export export_library_dependencies file \
find_file find_library find_package find_path find_program fltk_wrap_ui foreach function \
get_cmake_property get_directory_property get_filename_component get_property get_source_file_property \
get_target_property get_test_property if include include_directories include_external_msproject \
include_guard include_regular_expression install install_files install_programs install_targets \
link_directories link_libraries list load_cache load_command macro make_directory mark_as_advanced math \
message option output_required_files project qt_wrap_cpp qt_wrap_ui remove remove_definitions return \
separate_arguments set set_directory_properties set_property set_source_files_properties \
set_target_properties set_tests_properties site_name source_group string subdir_depends subdirs \
target_compile_definitions target_compile_features target_compile_options target_include_directories \
target_link_directories target_link_libraries target_link_options target_precompile_headers target_sources \
try_compile try_run unset use_mangled_mesa utility_source variable_requires variable_watch while \
write_file ";

/// Modules of CMake that need not be read: their commands are evaluated here, or are commands of
/// CMake itself.
const EVALUATED: [&[u8]; 3] =
    [b"CMakeFindDependencyMacro", b"CMakeParseArguments", b"FindPackageHandleStandardArgs"];

/// Keywords of `find_package_handle_standard_args`. Each ends the list of variables before it.
const KEYS: [&[u8]; 9] = [
    b"VERSION_VAR",
    b"HANDLE_COMPONENTS",
    b"HANDLE_VERSION_RANGE",
    b"CONFIG_MODE",
    b"FOUND_VAR",
    b"NAME_MISMATCHED",
    b"REASON_FAILURE_MESSAGE",
    b"FAIL_MESSAGE",
    b"REQUIRED_VARS",
];

impl Eval<'_> {
    /// Evaluates one command, except the commands of blocks such as `if`.
    pub(super) fn command(&mut self, file: &Arc<Parsed>, at: usize) -> Flow {
        let command = &file.commands[at];
        let words = self.words(file, &command.arguments);
        let name = command.name.as_str();
        if let Some(function) = self.state.functions.get(name).cloned() {
            return self.call(&function, &words);
        }
        // If a function replaces a command of CMake, `_NAME` calls the replaced command.
        let replaced =
            name.strip_prefix('_').filter(|name| self.state.functions.contains_key(*name));
        let name = replaced.filter(|name| OF_CMAKE.contains(&format!(" {name} "))).unwrap_or(name);
        match name {
            "return" => {
                // Policy CMP0140 decides if `return(PROPAGATE name…)` sets the variables, so they
                // become unknown.
                for word in words.iter().skip(1).filter_map(ArgumentWord::text) {
                    self.state.set_outside(word, Some(None));
                }
                return Flow::Return;
            }
            "include_guard" => return self.include_guard(),
            "cmake_language" if !words.first().is_some_and(|word| word.is("DEFER")) => {
                self.state.forget();
                self.open_targets(&[ArgumentWord { value: None, quoted: false }]);
                self.is_open = true;
            }
            "break" => return Flow::Break,
            "continue" => return Flow::Continue,
            "message" => return self.message(&words),
            "include" => return self.included(&words),
            "find_package" => return self.find_package(&words, false),
            "find_dependency" => return self.find_package(&words, true),
            "set" => self.set(&words),
            "unset" => self.unset(&words),
            "option" => self.option(&words),
            "list" => self.list(&words),
            "string" => self.string(&words),
            "math" => self.math(&words),
            "file" => self.file(&words),
            "get_filename_component" => self.filename_component(&words),
            "add_library" | "add_executable" => {
                self.add_target(&words, name == "add_executable");
            }
            "set_target_properties" => self.set_target_properties(&words),
            "set_property" => self.set_property(&words),
            "get_target_property" | "get_property" => self.get_property(name, &words),
            "target_link_libraries" => self.target_list(&words, b"INTERFACE_LINK_LIBRARIES"),
            "target_include_directories" => {
                if words.iter().any(|word| word.is("SYSTEM")) {
                    self.open_targets(words.get(..1).unwrap_or_default());
                }
                self.target_list(&words, b"INTERFACE_INCLUDE_DIRECTORIES");
            }
            "cmake_parse_arguments" => self.parse_arguments(&words),
            "find_library" | "find_path" | "find_file" | "find_program" => {
                self.obscure(words.get(..1).unwrap_or_default());
            }
            "execute_process" => {
                self.obscure(&words);
                self.has_processes = true;
            }
            "find_package_handle_standard_args" => self.standard_args(&words),
            _ if SILENT.contains(&name) => {
                if name.starts_with("target_") {
                    self.open_targets(words.get(..1).unwrap_or_default());
                }
            }
            _ => {
                if let Some(function) = self.outer_function(name) {
                    return self.call(&function, &words);
                }
                self.obscure(&words);
                self.open_targets(&words);
                if !OF_CMAKE.contains(&format!(" {name} ")) {
                    return self.strange_command(name, true);
                }
            }
        }
        Flow::Next
    }

    /// True for a function or macro that was defined; unknown for any other command.
    pub(super) fn has_command(&self, name: &[u8]) -> Truth {
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        if self.state.functions.contains_key(&name) { Truth::True } else { Truth::Unknown }
    }

    /// Marks as unknown all variables that the words name, and all variables `NAME_…` for these
    /// names.
    pub(super) fn obscure(&mut self, words: &[ArgumentWord]) {
        for word in words {
            let Some(text) = word.text().map(<[u8]>::to_vec) else { continue };
            let is_name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
            // A single digit is a number far more often than a name.
            let is_digit = text.len() == 1 && text[0].is_ascii_digit();
            if !text.is_empty() && !is_digit && text.iter().all(is_name) {
                self.obscure_name(&text);
            }
        }
    }

    /// Makes the variable `text` unknown, and all variables whose names start with `text_`.
    pub(super) fn obscure_name(&mut self, text: &[u8]) {
        self.state.set(text, None);
        let cloud: Text = [text, b"_"].concat().into();
        for name in self.names_with(&cloud) {
            self.state.set(&name, None);
        }
        self.state.clouds.insert(cloud);
    }

    /// Ends the evaluation of the file if the file was included before.
    fn include_guard(&mut self) -> Flow {
        // The name begins with a control character, so no file sets a variable of this name.
        let name = [b"\x01guard", bytes(&self.frame.path)].concat();
        if self.defined(&name) == Truth::True {
            return Flow::Return;
        }
        self.state.set(&name, known(&b""[..]));
        Flow::Next
    }

    fn message(&mut self, words: &[ArgumentWord]) -> Flow {
        if !words.first().is_some_and(|word| word.is("FATAL_ERROR") || word.is("SEND_ERROR")) {
            return Flow::Next;
        }
        let parts: Vec<&[u8]> = words[1..].iter().filter_map(ArgumentWord::text).collect();
        let text = parts.concat();
        // The message may name a file that the package checked with EXISTS and did not find.
        let absent =
            self.last_absent.iter().rev().find(|path| contains(&text, bytes(path))).cloned();
        if let Some(path) = absent {
            self.event(EventKind::Check(path));
        }
        if self.certain() {
            self.fatal = Some(text);
        }
        if words[0].is("FATAL_ERROR") { Flow::Stop } else { Flow::Next }
    }

    /// Evaluates `include(FILE|MODULE [OPTIONAL] [RESULT_VARIABLE name])`.
    fn included(&mut self, words: &[ArgumentWord]) -> Flow {
        let Some(first) = words.first() else { return Flow::Next };
        let result = words.iter().position(|word| word.is("RESULT_VARIABLE"));
        let result = result
            .and_then(|at| words.get(at + 1))
            .and_then(ArgumentWord::text)
            .map(<[u8]>::to_vec);
        let Some(text) = first.text().map(<[u8]>::to_vec) else {
            return self.give_up("it includes a file whose name is not known");
        };
        let path = Path::new(OsStr::from_bytes(&text));
        if !contains(&text, b"/") && !text.ends_with(b".cmake") {
            return self.module(&text, result.as_deref());
        }
        let path = if path.is_absolute() { path.to_path_buf() } else { return Flow::Next };
        let entry = self.host.look(&path);
        if let Some(result) = result {
            let found = if entry == PathEntry::File { bytes(&path) } else { b"NOTFOUND" };
            self.state.set(&result, known(found).filter(|_| entry != PathEntry::Unknown));
        }
        match entry {
            PathEntry::File => self.include(&without_dots(&path)),
            PathEntry::Absent if words.iter().any(|word| word.is("OPTIONAL")) => Flow::Next,
            PathEntry::Absent => {
                self.event(EventKind::Include(without_dots(&path)));
                if self.certain() {
                    let what = b"include could not find requested file: ";
                    self.fatal = Some([&what[..], &text].concat());
                }
                // CMake continues to the end of the configuration, and then fails.
                Flow::Next
            }
            PathEntry::Directory | PathEntry::Unknown => {
                self.give_up("an included file cannot be read")
            }
        }
    }

    /// Includes a module by its name. If the value of CMAKE_MODULE_PATH is known, a module in one
    /// of its directories is evaluated. CMake's own modules are not evaluated.
    fn module(&mut self, name: &[u8], result: Option<&[u8]>) -> Flow {
        let is_of_cmake = modules::includes(name);
        if let Some(result) = result {
            self.state.set(result, known(name).filter(|_| is_of_cmake));
        }
        let file = [name, b".cmake"].concat();
        let file = Path::new(OsStr::from_bytes(&file));
        let is_there = |eval: &mut Self, path: &Path| {
            path.is_absolute() && eval.host.look(path) == PathEntry::File
        };
        let mut is_known = is_of_cmake || result.is_some();
        if let Some(dirs) = self.value_of(b"CMAKE_MODULE_PATH") {
            for dir in items(&dirs, true) {
                let path = Path::new(OsStr::from_bytes(&dir)).join(file);
                if is_there(self, &path) {
                    return self.include(&without_dots(&path));
                }
            }
        } else {
            // CMake may first find another module of this name in an unknown directory. Therefore a
            // module in `module_dirs` is not evaluated.
            let paths: Vec<_> = self.module_dirs.iter().map(|dir| dir.join(file)).collect();
            is_known |= paths.iter().any(|path| is_there(self, path));
        }
        // The consumer may have the missing module, or may fail here.
        self.may_fail |= !is_known;
        self.has_modules |= !EVALUATED.contains(&name);
        Flow::Next
    }

    /// Evaluates `find_package_handle_standard_args(NAME message|REQUIRED_VARS variable…)`.
    fn standard_args(&mut self, words: &[ArgumentWord]) {
        let texts: Option<Vec<Vec<u8>>> =
            words.iter().map(|word| word.text().map(<[u8]>::to_vec)).collect();
        let Some((name, rest)) = texts.as_deref().and_then(<[_]>::split_first) else {
            return self.obscure(words);
        };
        let at = rest.iter().position(|word| word == b"REQUIRED_VARS").map(|at| at + 1);
        let is_old = !rest.iter().any(|word| KEYS.contains(&word.as_slice()));
        let required =
            rest.get(at.unwrap_or(if is_old { 1 } else { rest.len() })..).unwrap_or_default();
        let required = required.iter().take_while(|word| !KEYS.contains(&word.as_slice()));
        let mut truth = required.fold(Truth::True, |truth, name| truth.and(self.truth_of(name)));
        if rest.iter().any(|word| word == b"HANDLE_COMPONENTS") {
            truth = truth.and(self.components_found(name));
        }
        let value = match truth {
            Truth::True => known(&b"TRUE"[..]),
            Truth::False => known(&b"FALSE"[..]),
            Truth::Unknown => None,
        };
        for name in [name.clone(), name.to_ascii_uppercase()] {
            self.state.set(&[&name[..], b"_FOUND"].concat(), value.clone());
        }
    }

    /// The truth of a variable's value, as `if` decides it.
    pub(super) fn truth_of(&self, name: &[u8]) -> Truth {
        let value = self.value_of(name);
        Truth::maybe(value.map(|value| super::value::constant(&value).unwrap_or(true)))
    }

    /// True if each requested component of a package is found or optional
    /// (`FindPackageHandleStandardArgs`, HANDLE_COMPONENTS).
    fn components_found(&self, package: &[u8]) -> Truth {
        let of = |middle: &[u8], component: &[u8], end: &[u8]| {
            self.truth_of(&[package, middle, component, end].concat())
        };
        let Some(list) = self.value_of(&[package, b"_FIND_COMPONENTS"].concat()) else {
            return Truth::Unknown;
        };
        items(&list, true).iter().fold(Truth::True, |truth, component| {
            let is_optional = of(b"_FIND_REQUIRED_", component, b"").not();
            truth.and(of(b"_", component, b"_FOUND").or(is_optional))
        })
    }

    /// Evaluates `set(NAME value… [PARENT_SCOPE])` and `set(NAME value… CACHE TYPE text [FORCE])`.
    fn set(&mut self, words: &[ArgumentWord]) {
        let Some((name, values)) = words.split_first() else { return };
        let Some(name) = name.text().map(<[u8]>::to_vec) else { return };
        if name.starts_with(b"ENV{") {
            return;
        }
        let is_parent = values.last().is_some_and(|word| !word.quoted && word.is("PARENT_SCOPE"));
        let cache = values.iter().position(|word| !word.quoted && word.is("CACHE"));
        let end = cache.unwrap_or(values.len() - usize::from(is_parent));
        let value = joined_words(&values[..end]);
        if is_parent {
            let value = (end > 0).then_some(value);
            return self.state.set_outside(&name, value);
        }
        // The cache of a new project is empty, so the value is used, unless a variable of this name
        // is set.
        if cache.is_some() && self.defined(&name) != Truth::False {
            return;
        }
        if values.is_empty() { self.forget_variable(&name) } else { self.state.set(&name, value) }
    }

    fn unset(&mut self, words: &[ArgumentWord]) {
        let Some(name) = words.first().and_then(ArgumentWord::text).map(<[u8]>::to_vec) else {
            return;
        };
        if words.get(1).is_some_and(|word| word.is("PARENT_SCOPE")) {
            self.state.set_outside(&name, None);
        } else if !name.starts_with(b"ENV{") {
            self.forget_variable(&name);
        }
    }

    fn option(&mut self, words: &[ArgumentWord]) {
        let Some(name) = words.first().and_then(ArgumentWord::text).map(<[u8]>::to_vec) else {
            return;
        };
        if self.defined(&name) == Truth::False {
            let value = words.get(2).map_or_else(|| known(&b"OFF"[..]), |word| word.value.clone());
            self.state.set(&name, value);
        }
    }

    /// Evaluates `math(EXPR name "A op B")` for two whole numbers. The result of any other
    /// expression is unknown.
    fn math(&mut self, words: &[ArgumentWord]) {
        let Some(name) = words.get(1).and_then(ArgumentWord::text).map(<[u8]>::to_vec) else {
            return;
        };
        let value = words.get(2).and_then(ArgumentWord::text).and_then(|text| {
            let text: String = String::from_utf8_lossy(text).replace(' ', "");
            let at = text.char_indices().skip(1).find(|(_, c)| "+-*/%".contains(*c))?.0;
            let (left, right): (i64, i64) =
                (text[..at].parse().ok()?, text[at + 1..].parse().ok()?);
            match text.as_bytes()[at] {
                b'+' => left.checked_add(right),
                b'-' => left.checked_sub(right),
                b'*' => left.checked_mul(right),
                b'/' => left.checked_div(right),
                _ => left.checked_rem(right),
            }
        });
        self.state.set(&name, value.and_then(|value| known(value.to_string().as_bytes())));
    }

    /// Evaluates `cmake_parse_arguments(prefix options one multi args…)`.
    fn parse_arguments(&mut self, words: &[ArgumentWord]) {
        let texts: Option<Vec<Vec<u8>>> =
            words.iter().map(|word| word.text().map(<[u8]>::to_vec)).collect();
        let by_scope = words.first().is_some_and(|word| word.is("PARSE_ARGV"));
        let at = if by_scope { 2 } else { 0 };
        let rest =
            if by_scope { self.value_of(b"ARGN").map(|list| items(&list, true)) } else { None };
        let (Some(texts), Some(prefix)) = (texts, words.get(at).and_then(ArgumentWord::text))
        else {
            return self.obscure(words.get(at..=at).unwrap_or_default());
        };
        let prefix = prefix.to_vec();
        let lists = |n: usize| texts.get(at + n).map(|list| items(list, true)).unwrap_or_default();
        let (options, one, many) = (lists(1), lists(2), lists(3));
        let arguments = match (by_scope, rest) {
            (true, Some(rest)) => rest,
            (true, None) => return self.obscure(&words[at..=at]),
            (false, _) => texts.get(at + 4..).unwrap_or_default().to_vec(),
        };
        let name = |key: &[u8]| [prefix.as_slice(), b"_", key].concat();
        for option in &options {
            self.state.set(&name(option), known(&b"FALSE"[..]));
        }
        for key in one.iter().chain(&many) {
            self.forget_variable(&name(key));
        }
        let (mut key, mut unparsed): (Option<Vec<u8>>, Vec<Vec<u8>>) = (None, Vec::new());
        let mut lists: Vec<(Vec<u8>, Vec<Vec<u8>>)> = Vec::new();
        for argument in arguments {
            if options.contains(&argument) {
                self.state.set(&name(&argument), known(&b"TRUE"[..]));
                key = None;
            } else if one.contains(&argument) || many.contains(&argument) {
                lists.push((argument.clone(), Vec::new()));
                key = Some(argument);
            } else if let Some(current) = &key {
                if let Some((_, list)) = lists.iter_mut().rev().find(|(name, _)| name == current) {
                    list.push(argument);
                }
                if one.contains(current) {
                    key = None;
                }
            } else {
                unparsed.push(argument);
            }
        }
        for (key, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            self.state.set(&name(&key), known(joined(&list)));
        }
        let unparsed_name = name(b"UNPARSED_ARGUMENTS");
        if unparsed.is_empty() {
            self.forget_variable(&unparsed_name);
        } else {
            self.state.set(&unparsed_name, known(joined(&unparsed)));
        }
    }
}

/// Words joined to one list; `None` if one of them is unknown.
pub(super) fn joined_words(words: &[ArgumentWord]) -> MaybeText {
    let all: Option<Vec<Vec<u8>>> =
        words.iter().map(|word| word.text().map(<[u8]>::to_vec)).collect();
    all.and_then(|all| known(joined(&all)))
}

pub(super) fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}
