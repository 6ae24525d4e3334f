//! A unified diff of two short texts, as `diff -u` prints it. It is shown to people, and no program
//! reads it.

use std::ops::Range;

/// Lines around a change.
const AROUND: usize = 3;
/// Largest table of common lines, in cells. Above it the changed part counts as replaced in one piece.
const MOST_CELLS: usize = 4 << 20;

/// One line of a diff.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// The difference of two texts without headings; empty if they are equal.
pub fn unified(old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let lines = aligned(&pieces(old), &pieces(new));
    hunks(&lines).into_iter().map(|hunk| shown(&lines, hunk)).collect()
}

/// Lines with their ends, so that a missing last newline is a difference.
fn pieces(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn aligned<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(new).take_while(same).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(same).count();
    let (middle_old, middle_new) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let mut out: Vec<Line<'a>> = old[..head].iter().map(|line| Line::Same(line)).collect();
    out.extend(changed(middle_old, middle_new));
    out.extend(old[old.len() - tail..].iter().map(|line| Line::Same(line)));
    out
}

/// Longest common subsequence of the lines between the equal ends.
fn changed<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let width = new.len() + 1;
    if (old.len() + 1).saturating_mul(width) > MOST_CELLS {
        let removed = old.iter().map(|line| Line::Old(line));
        return removed.chain(new.iter().map(|line| Line::New(line))).collect();
    }
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            out.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            out.push(Line::Old(old[i]));
            i += 1;
        } else {
            out.push(Line::New(new[j]));
            j += 1;
        }
    }
    out
}

/// Changes with the lines around them; hunks that touch are one.
fn hunks(lines: &[Line<'_>]) -> Vec<Range<usize>> {
    let mut hunks: Vec<Range<usize>> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if matches!(line, Line::Same(_)) {
            continue;
        }
        let (start, end) = (at.saturating_sub(AROUND), (at + 1 + AROUND).min(lines.len()));
        match hunks.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => hunks.push(start..end),
        }
    }
    hunks
}

fn shown(lines: &[Line<'_>], hunk: Range<usize>) -> String {
    let is_old = |line: &&Line<'_>| !matches!(line, Line::New(_));
    let is_new = |line: &&Line<'_>| !matches!(line, Line::Old(_));
    let (before, inside) = (&lines[..hunk.start], &lines[hunk]);
    let place = |of: &dyn Fn(&&Line<'_>) -> bool| {
        let count = inside.iter().filter(of).count();
        let first = before.iter().filter(of).count() + usize::from(count > 0);
        format!("{first},{count}")
    };
    let mut out = format!("@@ -{} +{} @@\n", place(&is_old), place(&is_new));
    for line in inside {
        let (mark, text) = match line {
            Line::Same(text) => (' ', text),
            Line::Old(text) => ('-', text),
            Line::New(text) => ('+', text),
        };
        out.push(mark);
        out += text.strip_suffix('\n').unwrap_or(text);
        out.push('\n');
        if !text.ends_with('\n') {
            out += "\\ No newline at end of file\n";
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(unified("a\nb\n", "a\nb\n"), "");
    }

    #[test]
    fn changes_have_lines_around_them() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n";
        assert_eq!(unified(old, new), "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
    }

    #[test]
    fn far_changes_are_hunks_of_their_own() {
        let old: String = (0..20).map(|n| n.to_string() + "\n").collect();
        let new = old.replace("2\n3\n", "2\n").replace("\n17\n", "\n17\nx\n");
        let text = unified(&old, &new);
        assert_eq!(text.matches("@@ -").count(), 2, "{text}");
        assert!(text.contains("-3\n") && text.contains("+x\n"), "{text}");
    }

    #[test]
    fn a_missing_newline_is_said() {
        let end = "\\ No newline at end of file\n";
        assert_eq!(unified("a", "a\n"), format!("@@ -1,1 +1,1 @@\n-a\n{end}+a\n"));
        assert_eq!(unified("", "a\n"), "@@ -0,0 +1,1 @@\n+a\n");
    }
}
