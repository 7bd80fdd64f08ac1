//! Several processes at once, and killed ones.
#![expect(clippy::disallowed_methods, reason = "the tests need processes that they can kill")]

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::support::{HOST, Place};

fn start(place: &Place, prefix: &str, count: usize) -> Child {
    let key = place.directory.path().join("key");
    let key = if key.exists() { key } else { "-".into() };
    let mut command = Command::new(HOST);
    command.arg(place.path()).arg(key).arg(prefix).arg(count.to_string());
    command.stdout(Stdio::piped()).spawn().unwrap()
}

#[tokio::test]
async fn four_processes_set_fifty_names_each_and_none_is_lost() {
    for place in [Place::new(), Place::with_key_file()] {
        let begun = Instant::now();
        let children: Vec<Child> = ["A", "B", "C", "D"].map(|prefix| start(&place, prefix, 50)).into();
        for mut child in children {
            let lines = BufReader::new(child.stdout.take().unwrap()).lines().count();
            assert_eq!((lines, child.wait().unwrap().success()), (50, true));
        }
        println!("200 secrets of four processes in {:?}", begun.elapsed());
        let names = place.names().await.unwrap();
        assert_eq!(names.split(' ').count(), 200);
        for name in names.split(' ') {
            assert_eq!(place.get(name).await.unwrap(), Some(format!("value of {name}")));
        }
    }
}

#[tokio::test]
async fn a_process_that_is_killed_loses_nothing_that_it_has_set() {
    const ROUNDS: u64 = 40;
    for place in [Place::new(), Place::with_key_file()] {
        let mut acknowledged = BTreeSet::new();
        let mut drafts = 0;
        for round in 0..ROUNDS {
            let mut child = start(&place, &format!("R{round}"), 20);
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            acknowledged.extend(lines.next().map(Result::unwrap));
            // At another point of a change each time.
            thread::sleep(Duration::from_micros(round * 731 % 9_000));
            child.kill().unwrap();
            child.wait().unwrap();
            acknowledged.extend(lines.map(Result::unwrap));
            drafts += usize::from(fs::exists(place.path().with_file_name("secrets.new")).unwrap());
            let names = place.names().await.unwrap();
            let names: BTreeSet<String> = names.split(' ').map(str::to_owned).collect();
            let lost: Vec<_> = acknowledged.difference(&names).collect();
            assert!(lost.is_empty(), "round {round}: {lost:?}");
        }
        println!("{ROUNDS} kills: {} secrets acknowledged, {drafts} drafts left behind", acknowledged.len());
        for name in &acknowledged {
            assert_eq!(place.get(name).await.unwrap(), Some(format!("value of {name}")));
        }
        place.set("LAST", "x").await.unwrap();
        assert_eq!(place.files(), ["secrets", "secrets.lock"]);
    }
}
