//! Names that were perhaps meant.

use strsim::osa_distance;

/// Up to three of `known` that are close to `name`, the closest first.
pub(crate) fn similar<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let name = name.to_lowercase();
    // What stands before `__` is the server's, and mostly right: it must not make far names look near.
    let allowed = (bare(&name).chars().count() / 3).max(1);
    let mut found: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|other| {
            let lower = other.to_lowercase();
            let distance = osa_distance(&name, &lower).min(osa_distance(&name, bare(&lower)));
            let is_part = name.len() >= 3 && lower.contains(&name);
            (distance <= allowed || is_part).then_some((distance, other))
        })
        .collect();
    found.sort_unstable();
    found.into_iter().take(3).map(|(_, other)| other.to_owned()).collect()
}

fn bare(name: &str) -> &str {
    name.rsplit("__").next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_found() {
        let known = ["files__read_file", "files__write_file", "git__log"];
        for (name, expected) in [
            ("files__raed_file", vec!["files__read_file"]),
            ("read_file", vec!["files__read_file"]),
            ("lgo", vec!["git__log"]),
            ("nothing_like_it", vec![]),
        ] {
            assert_eq!(similar(name, known), expected, "{name}");
        }
    }
}
