use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{
    super::graph::{Entity, Observations, Relation},
    *,
};

const QUOTA: Quota = Quota { entities: 100_000, bytes: 1 << 26 };

fn store(directory: &tempfile::TempDir) -> Store {
    Store::new(directory.path().join("memory.jsonl"), QUOTA)
}

fn entity(name: &str) -> Entity {
    Entity { name: name.into(), entity_type: "test".into(), observations: vec![format!("about {name}")] }
}

fn observations(name: &str, contents: &[&str]) -> Vec<Observations> {
    vec![Observations { entity: name.into(), contents: contents.iter().map(|it| (*it).to_owned()).collect() }]
}

fn relation(from: &str, to: &str) -> Relation {
    Relation { from: from.into(), to: to.into(), relation_type: "knows".into() }
}

fn names(store: &Store) -> Vec<String> {
    store.read(|graph| graph.entities().map(|entity| entity.name.clone()).collect()).unwrap()
}

#[test]
fn parallel_writers_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    thread::scope(|scope| {
        for writer in 0..4 {
            let store = store(&directory);
            scope.spawn(move || {
                for number in 0..50 {
                    store
                        .change(GraphChange::CreateEntities(vec![entity(&format!("{writer}-{number}"))]))
                        .unwrap();
                    if number % 20 == writer {
                        store.flush().unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(names(&store(&directory)).len(), 200);
    store(&directory).flush().unwrap();
    let content = fs::read_to_string(directory.path().join("memory.jsonl")).unwrap();
    assert_eq!(content.lines().count(), 200);
    assert!(content.lines().all(|line| line.starts_with(r#"{"type":"entity","name":""#)), "{content}");
}

#[test]
fn changes_of_other_programs_are_seen() {
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (store(&directory), store(&directory));
    one.change(GraphChange::CreateEntities(vec![entity("a"), entity("b")])).unwrap();
    other.change(GraphChange::AddObservations(observations("a", &["more"]))).unwrap();
    one.change(GraphChange::CreateRelations(vec![relation("a", "b")])).unwrap();
    let seen = one.read(|graph| graph.entity("a").unwrap().observations.clone()).unwrap();
    assert_eq!(seen, ["about a", "more"]);
    one.flush().unwrap();
    // The reference server writes the whole file.
    let path = directory.path().join("memory.jsonl");
    let content = fs::read_to_string(&path).unwrap()
        + "\n{\"type\":\"entity\",\"name\":\"c\",\"entityType\":\"x\",\"observations\":[]}";
    fs::write(&path, content).unwrap();
    assert_eq!(names(&other), ["a", "b", "c"]);
    other.change(GraphChange::DeleteEntities(vec!["a".into()])).unwrap();
    assert_eq!(names(&one), ["b", "c"]);
    assert!(one.read(|graph| graph.relations().is_empty()).unwrap());
}

#[test]
fn damage_costs_only_the_damaged_lines() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.jsonl");
    let good = serde_json::to_string(&Line::Entity(entity("good"))).unwrap();
    fs::write(&path, format!("{good}\n{{\"type\":\"entity\",\"na\n\nnonsense\n")).unwrap();
    let store = store(&directory);
    assert_eq!(names(&store), ["good"]);
    assert_eq!(fs::read_to_string(directory.path().join("memory.jsonl.bad")).unwrap().lines().count(), 2);
    assert_eq!(fs::read_to_string(&path).unwrap(), good);
    // Half a line in the journal was acknowledged to nobody.
    store.change(GraphChange::CreateEntities(vec![entity("kept")])).unwrap();
    let journal = directory.path().join("memory.jsonl.journal");
    let mut torn = fs::read(&journal).unwrap();
    torn.extend_from_slice(br#"{"create_entities":[{"na"#);
    fs::write(&journal, torn).unwrap();
    assert_eq!(names(&store), ["good", "kept"]);
    store.change(GraphChange::CreateEntities(vec![entity("next")])).unwrap();
    assert_eq!(names(&self::store(&directory)), ["good", "kept", "next"]);
}

#[test]
fn quotas_and_unknown_entities_change_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let small = Store::new(directory.path().join("m"), Quota { entities: 2, bytes: 1 << 20 });
    small.change(GraphChange::CreateEntities(vec![entity("a"), entity("b")])).unwrap();
    assert!(matches!(
        small.change(GraphChange::CreateEntities(vec![entity("c")])),
        Err(StoreError::Full { .. })
    ));
    small.change(GraphChange::DeleteEntities(vec!["a".into()])).unwrap();
    small.change(GraphChange::CreateEntities(vec![entity("c")])).unwrap();
    let error = small.change(GraphChange::AddObservations(observations("z", &["x"]))).unwrap_err();
    assert_eq!(error.to_string(), "Entity with name z not found");
    assert_eq!(names(&small), ["b", "c"]);
}

#[test]
fn only_regular_files_are_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("memory.jsonl");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert!(matches!(store(&directory).read(|_| ()), Err(StoreError::Read { .. })));
}

/// A small generator of numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn name(&mut self) -> String {
        ["a", "b", "c", "d"][self.below(4) as usize].to_owned()
    }

    fn change(&mut self) -> GraphChange {
        let observation = format!("o{}", self.below(4));
        match self.below(6) {
            0 => GraphChange::CreateEntities(vec![Entity {
                observations: vec![observation],
                ..entity(&self.name())
            }]),
            1 => GraphChange::CreateRelations(vec![relation(&self.name(), &self.name())]),
            2 => GraphChange::AddObservations(observations(&self.name(), &[&observation])),
            3 => GraphChange::DeleteEntities(vec![self.name()]),
            4 => GraphChange::DeleteObservations(observations(&self.name(), &[&observation])),
            _ => GraphChange::DeleteRelations(vec![relation(&self.name(), &self.name())]),
        }
    }
}

/// What counts in a graph, in any order.
fn content(graph: &Graph) -> (BTreeMap<String, BTreeSet<String>>, HashSet<Relation>) {
    let observations = |entity: &Entity| entity.observations.iter().cloned().collect();
    let entities = graph.entities().map(|entity| (entity.name.clone(), observations(entity))).collect();
    (entities, graph.relations().iter().cloned().collect())
}

/// A crash between writing the file and emptying the journal applies all changes of the journal once more.
#[test]
fn changes_that_are_applied_once_more_change_nothing() {
    let mut numbers = Numbers(7);
    for _ in 0..3_000 {
        let mut graph = Graph::default();
        for _ in 0..numbers.below(6) {
            drop(graph.apply(numbers.change()));
        }
        let journal: Vec<GraphChange> =
            (0..numbers.below(12)).filter_map(|_| graph.apply(numbers.change()).ok()).collect();
        let expected = content(&graph);
        for change in &journal {
            drop(graph.apply(change.clone()));
        }
        assert_eq!(content(&graph), expected, "{journal:#?}");
    }
}
