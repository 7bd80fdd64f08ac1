use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt, thread};

use super::*;
use crate::rights::{Rights, Tier};

fn name(text: &str) -> TokenName {
    text.parse().unwrap()
}

fn file() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toolbay/tokens.json");
    (folder, path)
}

#[test]
fn a_token_is_known_by_its_hash_until_it_is_revoked() {
    let (_folder, path) = file();
    let tokens = HubTokens::open(&path).unwrap();
    assert!(!tokens.is_in_use(), "no token was ever created");
    let servers = Some(Arc::new(BTreeSet::from(["a".to_owned(), "b".to_owned()])));
    let rights = Rights { tier: Tier::Read, servers, profile: Some("p".into()) };
    let secret = TokenFile::at(&path).create(name("ci"), rights.clone(), None).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains(secret.reveal()) && !text.contains(&secret.reveal()[3..]), "{text}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(tokens.known(secret.reveal()).is_none(), "not read yet");
    tokens.look().unwrap();
    let access = tokens.known(secret.reveal()).unwrap();
    assert_eq!((access.principal.as_str(), &access.rights), ("token:ci", &rights));
    TokenFile::at(&path).create(name("other"), Rights::default(), None).unwrap();
    tokens.look().unwrap();
    assert!(Arc::ptr_eq(&access, &tokens.known(secret.reveal()).unwrap()), "nothing changed for it");
    TokenFile::at(&path).revoke(&name("ci")).unwrap();
    tokens.look().unwrap();
    assert!(tokens.known(secret.reveal()).is_none() && access.revoked.is_cancelled());
    TokenFile::at(&path).revoke(&name("other")).unwrap();
    tokens.look().unwrap();
    assert!(tokens.is_in_use(), "revoking the last token opens nothing");
    fs::remove_file(&path).unwrap();
    tokens.look().unwrap();
    assert!(tokens.is_in_use());
}

#[tokio::test]
async fn a_token_that_is_refused_says_why() {
    let (_folder, path) = file();
    let secret = TokenFile::at(&path).create(name("ci"), Rights::default(), None).unwrap();
    TokenFile::at(&path).revoke(&name("ci")).unwrap();
    let tokens = HubTokens::open(&path).unwrap();
    let refusal = |token: &str| {
        let found = futures_util::future::FutureExt::now_or_never(tokens.authenticate(token)).unwrap();
        found.map(|found| found.unwrap_err().to_string())
    };
    assert!(refusal(secret.reveal()).unwrap().contains("was revoked"));
    assert!(refusal(&secret.reveal()[..20]).unwrap().contains("mistyped"));
    assert_eq!(refusal("something else"), None, "the next authenticator is asked");
}

#[test]
fn what_has_expired_is_refused_at_once_and_ended_by_the_next_look() {
    let (_folder, path) = file();
    let soon = SystemTime::now() + Duration::from_millis(1100);
    let secret = TokenFile::at(&path).create(name("ci"), Rights::default(), Some(soon)).unwrap();
    let tokens = HubTokens::open(&path).unwrap();
    let Some(access) = tokens.known(secret.reveal()) else { return }; // a slow machine
    thread::sleep(Duration::from_millis(1200));
    assert!(tokens.known(secret.reveal()).is_none());
    assert!(!access.revoked.is_cancelled());
    tokens.look().unwrap();
    assert!(access.revoked.is_cancelled());
}

#[test]
fn names_are_unique_and_unknown_ones_are_named() {
    let (_folder, path) = file();
    let file = TokenFile::at(&path);
    file.create(name("ci"), Rights::default(), None).unwrap();
    let error = file.create(name("ci"), Rights::default(), None).unwrap_err().to_string();
    assert!(error.contains("there is a token `ci` already"), "{error}");
    assert!(matches!(file.revoke(&name("x")), Err(TokenFileError::Unknown(unknown)) if unknown == name("x")));
    assert_eq!(file.read().unwrap().len(), 1);
}

#[test]
fn two_that_create_at_once_lose_nothing() {
    let (_folder, path) = file();
    thread::scope(|scope| {
        for creator in 0..4 {
            let file = TokenFile::at(&path);
            scope.spawn(move || {
                for number in 0..10 {
                    file.create(name(&format!("{creator}-{number}")), Rights::default(), None).unwrap();
                }
            });
        }
    });
    assert_eq!(TokenFile::at(&path).read().unwrap().len(), 40);
}

#[test]
fn a_file_that_is_not_ours_is_refused_and_the_last_valid_one_stays() {
    let (_folder, path) = file();
    let secret = TokenFile::at(&path).create(name("ci"), Rights::default(), None).unwrap();
    let tokens = HubTokens::open(&path).unwrap();
    for broken in ["", "{", r#"{"version":2,"tokens":[]}"#, r#"{"version":1,"tokens":[{"name":"a"}]}"#] {
        fs::write(&path, broken).unwrap();
        assert!(tokens.look().is_err(), "{broken}");
        assert!(tokens.known(secret.reveal()).is_some(), "{broken}");
        assert!(HubTokens::open(&path).is_err(), "{broken}");
        assert!(
            TokenFile::at(&path).create(name("b"), Rights::default(), None).is_err(),
            "nothing is overwritten"
        );
    }
    fs::write(&path, r#"{"version":1,"tokens":[]}"#).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(matches!(tokens.look(), Err(TokenFileError::Writable { .. })));
}

#[tokio::test]
async fn a_hub_that_follows_the_file_notices_within_a_second() {
    let (_folder, path) = file();
    let tokens = HubTokens::open(&path).unwrap();
    let stop = CancellationToken::new();
    let following = tokens.clone().follow(stop.clone());
    let watched = async {
        let secret = TokenFile::at(&path).create(name("ci"), Rights::default(), None).unwrap();
        sleep(Duration::from_secs(1)).await;
        let access = tokens.known(secret.reveal()).unwrap();
        TokenFile::at(&path).revoke(&name("ci")).unwrap();
        tokio::time::timeout(Duration::from_secs(1), access.ended()).await.unwrap();
        stop.cancel();
    };
    tokio::join!(following, watched);
}
