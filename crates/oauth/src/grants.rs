//! Grants that need no user: client credentials, enterprise-managed authorization, workload identity.

use std::{fmt, sync::Arc};

use crate::{
    credential::Credential,
    discovery::Discovery,
    error::{OAuthError, RefusedBy},
    http_client::{BoxFuture, Fetch},
    scope::Scopes,
    token::{ClientAuthentication, ClientCredentials, Form, ProofKey, TokenEndpoint, Tokens},
};

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// How tokens for a server are obtained.
#[derive(Debug, Clone)]
pub enum Grant {
    /// A user logs in.
    Login,
    /// The client itself is authorized (`client_credentials`).
    ClientCredentials(ClientCredentials),
    /// An identity provider vouches for a user who has logged in there.
    EnterpriseManaged(EnterpriseManaged),
    /// The platform vouches for the program that runs on it.
    WorkloadIdentity(WorkloadIdentity),
}

/// Something that an authorization server takes as a proof of identity. It may expire, so it is asked for each time.
pub trait Assertion: fmt::Debug + Send + Sync {
    /// Returns the assertion for an audience.
    fn assertion<'a>(&'a self, audience: &'a str) -> BoxFuture<'a, Result<Credential, OAuthError>>;
}

impl Assertion for Credential {
    fn assertion<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Credential, OAuthError>> {
        Box::pin(async { Ok(self.clone()) })
    }
}

/// Enterprise-managed authorization: the identity provider exchanges the user's ID token for a grant (ID-JAG), which the
/// authorization server of the MCP server accepts.
#[derive(Debug, Clone)]
pub struct EnterpriseManaged {
    /// The token endpoint of the identity provider.
    pub idp_token_endpoint: String,
    /// The issuer of the identity provider.
    pub idp_issuer: String,
    /// Who we are at the identity provider.
    pub idp_client: ClientCredentials,
    /// The ID token, or a SAML assertion.
    pub subject: Arc<dyn Assertion>,
    /// What `subject` is: `urn:ietf:params:oauth:token-type:id_token` or `…:saml2`.
    pub subject_token_type: String,
    /// Who we are at the authorization server.
    pub client: ClientCredentials,
}

/// Workload identity: a token of the platform (a Kubernetes service account, for example) is the grant. There is no other
/// way if it is refused.
#[derive(Debug, Clone)]
pub struct WorkloadIdentity {
    /// The token of the platform.
    pub assertion: Arc<dyn Assertion>,
    /// The client id, if the authorization server wants one.
    pub client_id: Option<String>,
}

impl Grant {
    /// The client id that tokens are issued to; a login finds its own.
    pub(crate) fn client_id(&self) -> &str {
        match self {
            Self::Login => "",
            Self::ClientCredentials(client) | Self::EnterpriseManaged(EnterpriseManaged { client, .. }) => {
                &client.client_id
            }
            Self::WorkloadIdentity(workload) => workload.client_id.as_deref().unwrap_or_default(),
        }
    }

    /// Obtains tokens, once and in this way only.
    pub(crate) async fn obtain(
        &self,
        fetch: &dyn Fetch,
        discovery: &Discovery,
        scopes: &Scopes,
        proof_key: Option<&ProofKey>,
    ) -> Result<Tokens, OAuthError> {
        let server = &discovery.server;
        let endpoint = |client| TokenEndpoint {
            fetch,
            url: &server.token_endpoint,
            issuer: &server.issuer,
            client,
            proof_key,
            by: RefusedBy::Token,
        };
        let mut form;
        match self {
            Self::Login => Err(OAuthError::LoginRequired),
            Self::ClientCredentials(client) => {
                form = Form::of_grant("client_credentials");
                form.set_scope(scopes);
                form.set("resource", &discovery.resource);
                endpoint(client).tokens(form, scopes).await
            }
            Self::EnterpriseManaged(enterprise) => {
                form = Form::of_grant(JWT_BEARER);
                form.set("assertion", enterprise.exchange(fetch, discovery, scopes).await?.expose());
                form.set("resource", &discovery.resource);
                form.set_scope(scopes);
                endpoint(&enterprise.client).tokens(form, scopes).await
            }
            Self::WorkloadIdentity(workload) => {
                form = Form::of_grant(JWT_BEARER);
                form.set("assertion", workload.assertion.assertion(&server.issuer).await?.expose());
                form.set("resource", &discovery.resource);
                form.set_scope(scopes);
                let client_id = workload.client_id.clone().unwrap_or_default();
                let client = ClientCredentials { client_id, authentication: ClientAuthentication::None };
                endpoint(&client).tokens(form, scopes).await
            }
        }
    }
}

impl EnterpriseManaged {
    /// Exchanges the user's identity for a grant (RFC 8693).
    async fn exchange(
        &self,
        fetch: &dyn Fetch,
        discovery: &Discovery,
        scopes: &Scopes,
    ) -> Result<Credential, OAuthError> {
        let subject = self.subject.assertion(&self.idp_issuer).await?;
        let mut form = Form::of_grant(TOKEN_EXCHANGE);
        form.set("requested_token_type", ID_JAG);
        form.set("audience", &discovery.server.issuer);
        form.set("resource", &discovery.resource);
        form.set("subject_token", subject.expose());
        form.set("subject_token_type", &self.subject_token_type);
        form.set_scope(scopes);
        let endpoint = TokenEndpoint {
            fetch,
            url: &self.idp_token_endpoint,
            issuer: &self.idp_issuer,
            client: &self.idp_client,
            proof_key: None,
            by: RefusedBy::IdentityProvider,
        };
        let response = endpoint.request(form).await?;
        match response.issued_token_type.as_deref() {
            Some(ID_JAG) => Ok(response.access_token),
            _ => Err(OAuthError::InvalidDocument {
                url: self.idp_token_endpoint.clone(),
                problem: "a token of another type than was requested".to_owned(),
            }),
        }
    }
}
