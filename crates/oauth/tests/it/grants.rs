use std::sync::Arc;

use ring::{rand::SystemRandom, signature};
use tempfile::tempdir;
use toolbay_oauth::{
    ClientSettings, Credential, Grant,
    grants::{EnterpriseManaged, WorkloadIdentity},
    token::{ClientAuthentication, ClientCredentials, SigningKey},
};

use crate::world::{Rules, World};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

fn client(authentication: ClientAuthentication) -> ClientCredentials {
    ClientCredentials { client_id: "robot".to_owned(), authentication }
}

fn pem() -> Credential {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let algorithm = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
    let key = signature::EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).unwrap();
    Credential::new(format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        STANDARD.encode(key)
    ))
}

#[tokio::test]
async fn a_client_is_authorized_itself() {
    let key = Arc::new(SigningKey::from_pem(&pem()).unwrap());
    for (method, authentication) in [
        ("client_secret_basic", ClientAuthentication::SecretBasic(Credential::new("p:ss wörd"))),
        ("client_secret_post", ClientAuthentication::SecretPost(Credential::new("secret"))),
        ("private_key_jwt", ClientAuthentication::PrivateKeyJwt(key)),
    ] {
        let rules = Rules {
            authentication: method,
            challenge_scope: Some("x"),
            has_refresh: false,
            ..Rules::default()
        };
        let (world, directory) = (World::start(rules).await, tempdir().unwrap());
        let grant = Grant::ClientCredentials(client(authentication));
        let client = world.client_with(directory.path(), grant.clone(), ClientSettings::default());
        assert_eq!(client.call("x").await.unwrap(), 200, "{method}");
        let form = &world.requests("/token")[0];
        assert_eq!(
            (&*form["grant_type"], &*form["scope"], &form["resource"]),
            ("client_credentials", "x", &world.url())
        );
        // The next process uses the token that is there, and a revoked one is replaced.
        let client = world.client_with(directory.path(), grant, ClientSettings::default());
        assert_eq!(client.call("x").await.unwrap(), 200);
        assert_eq!(world.requests("/token").len(), 1);
        world.state().tokens.clear();
        assert_eq!(client.call("x").await.unwrap(), 200);
        assert_eq!((world.requests("/token").len(), world.requests("/authorize").len()), (2, 0));
    }
}

#[tokio::test]
async fn an_identity_provider_vouches_for_the_user() {
    let (world, directory) = (World::start(Rules::default()).await, tempdir().unwrap());
    let grant = Grant::EnterpriseManaged(EnterpriseManaged {
        idp_token_endpoint: format!("{}/token", world.issuers[1]),
        idp_issuer: world.issuers[1].clone(),
        idp_client: client(ClientAuthentication::None),
        subject: Arc::new(Credential::new("the-id-token")),
        subject_token_type: "urn:ietf:params:oauth:token-type:id_token".to_owned(),
        client: client(ClientAuthentication::None),
    });
    let client = world.client_with(directory.path(), grant, ClientSettings::default());
    assert_eq!(client.call("").await.unwrap(), 200);
    let [exchange, bearer] = &world.requests("/token")[..] else { panic!() };
    assert_eq!((&exchange["audience"], &exchange["resource"]), (&world.issuers[0], &world.url()));
    assert_eq!(
        (&*bearer["grant_type"], &bearer["assertion"]),
        (JWT_BEARER, &format!("jag-for-{}", world.issuers[0]))
    );
}

#[tokio::test]
async fn a_workload_that_is_refused_tries_nothing_else() {
    for (assertion, requests) in [("good", 1), ("expired", 1)] {
        let (world, directory) = (World::start(Rules::default()).await, tempdir().unwrap());
        let assertion = Arc::new(Credential::new(assertion));
        let grant =
            Grant::WorkloadIdentity(WorkloadIdentity { assertion, client_id: Some("pod".to_owned()) });
        let client = world.client_with(directory.path(), grant, ClientSettings::default());
        for _ in 0..3 {
            assert_eq!(client.call("").await.is_ok(), *world.requests("/token")[0]["assertion"] == *"good");
        }
        let forms = world.requests("/token");
        assert_eq!(forms.len(), requests);
        assert!(forms.iter().all(|form| form["grant_type"] == JWT_BEARER && form["client_id"] == "pod"));
    }
}
