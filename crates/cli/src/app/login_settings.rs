//! The table `oauth` of an entry, as the OAuth client takes it.

use std::{path::PathBuf, sync::Arc};

use http::{HeaderMap, Method, Uri};
use toolbay_config::{OAuthConfig, OAuthGrant, Secret, read_small_text};
use toolbay_oauth::{
    BoxFuture, ClientSettings, Credential, Grant, OAuthError, PreRegistered, Scopes,
    grants::{Assertion, EnterpriseManaged, WorkloadIdentity},
    token::{ClientAuthentication, ClientCredentials, SigningKey},
};
use toolbay_transport::http::client::{
    AfterRefusal, AuthorizationFailure, AuthorizerFuture, RefusedRequest, RequestAuthorizer,
};

use crate::app::secrets;

/// A larger file holds no token.
const MAX_TOKEN_FILE: u64 = 64 * 1024;

/// Who we are at authorization servers.
///
/// # Errors
/// If the private key cannot be used.
pub(crate) fn settings(oauth: &OAuthConfig) -> Result<ClientSettings, String> {
    let key = signing_key(oauth)?;
    Ok(ClientSettings {
        client_name: "Toolbay".to_owned(),
        pre_registered: oauth.client_id.clone().map(|client_id| PreRegistered {
            client_id,
            client_secret: oauth.client_secret.as_ref().map(credential),
            key,
            issuer: oauth.issuer.clone(),
        }),
        scopes: oauth.scopes.as_deref().map(Scopes::parse),
        callback_port: oauth.callback_port,
        dpop: oauth.dpop,
        ..ClientSettings::default()
    })
}

/// How tokens are obtained.
///
/// # Errors
/// If the private key cannot be used.
pub(crate) fn grant(oauth: &OAuthConfig) -> Result<Grant, String> {
    let client = || -> Result<ClientCredentials, String> {
        let authentication = match (signing_key(oauth)?, &oauth.client_secret) {
            (Some(key), _) => ClientAuthentication::PrivateKeyJwt(key),
            (None, Some(secret)) => ClientAuthentication::SecretBasic(credential(secret)),
            (None, None) => ClientAuthentication::None,
        };
        Ok(ClientCredentials { client_id: oauth.client_id.clone().unwrap_or_default(), authentication })
    };
    Ok(match &oauth.grant {
        OAuthGrant::AuthorizationCode => Grant::Login,
        OAuthGrant::ClientCredentials => Grant::ClientCredentials(client()?),
        OAuthGrant::EnterpriseManaged { issuer, token_endpoint, client_id, client_secret, token_file } => {
            let authentication = match client_secret {
                Some(secret) => ClientAuthentication::SecretBasic(credential(secret)),
                None => ClientAuthentication::None,
            };
            Grant::EnterpriseManaged(EnterpriseManaged {
                idp_token_endpoint: token_endpoint.clone(),
                idp_issuer: issuer.clone(),
                idp_client: ClientCredentials { client_id: client_id.clone(), authentication },
                subject: Arc::new(TokenFile(token_file.clone())),
                subject_token_type: "urn:ietf:params:oauth:token-type:id_token".to_owned(),
                client: client()?,
            })
        }
        OAuthGrant::WorkloadIdentity { token_file } => Grant::WorkloadIdentity(WorkloadIdentity {
            assertion: Arc::new(TokenFile(token_file.clone())),
            client_id: oauth.client_id.clone(),
        }),
    })
}

fn signing_key(oauth: &OAuthConfig) -> Result<Option<Arc<SigningKey>>, String> {
    let Some(file) = &oauth.private_key_file else { return Ok(None) };
    let failed = |why: String| format!("`oauth.private_key_file` {}: {why}", file.display());
    let text =
        secrets::text(file).map_err(|error| failed(toolbay_protocol::printable::error_chain(&error)))?;
    let key = SigningKey::from_pem(&Credential::new(text)).map_err(|error| failed(error.to_string()))?;
    Ok(Some(Arc::new(key)))
}

fn credential(secret: &Secret) -> Credential {
    Credential::new(secret.expose())
}

/// A token in a file, which the platform replaces before it expires. It is read for each use.
#[derive(Debug)]
struct TokenFile(PathBuf);

impl Assertion for TokenFile {
    fn assertion<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Credential, OAuthError>> {
        Box::pin(async move {
            let path = self.0.clone();
            let failed = |why: &dyn std::fmt::Display| {
                OAuthError::Assertion(format!("`oauth.token_file` {}: {why}", self.0.display()))
            };
            let read = tokio::task::spawn_blocking(move || read_small_text(&path, MAX_TOKEN_FILE)).await;
            let text = read.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
            match text.trim() {
                "" => Err(failed(&"it is empty")),
                token => Ok(Credential::new(token)),
            }
        })
    }
}

/// Stands in for an authorizer that cannot be made: the server says when it matters, and this says why.
#[derive(Debug)]
pub(crate) struct BrokenAuthorizer(pub(crate) String);

impl RequestAuthorizer for BrokenAuthorizer {
    fn is_active(&self) -> bool {
        false
    }

    fn headers<'a>(
        &'a self,
        _: &'a Method,
        _: &'a Uri,
    ) -> AuthorizerFuture<'a, Result<HeaderMap, AuthorizationFailure>> {
        Box::pin(async { Ok(HeaderMap::new()) })
    }

    fn accepted(&self, _: &Uri, _: &HeaderMap) {}

    fn refused<'a>(
        &'a self,
        _: RefusedRequest<'a>,
    ) -> AuthorizerFuture<'a, Result<AfterRefusal, AuthorizationFailure>> {
        Box::pin(async { Err(AuthorizationFailure::Failed { reason: self.0.clone(), is_transient: false }) })
    }

    fn changed(&self) -> AuthorizerFuture<'_, ()> {
        Box::pin(std::future::pending())
    }

    fn login_page(&self) -> AuthorizerFuture<'_, Result<String, String>> {
        Box::pin(async { Err(self.0.clone()) })
    }
}
