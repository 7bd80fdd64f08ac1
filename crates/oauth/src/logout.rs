//! The end of a login.

use crate::{
    authorizer::AuthorizerConfig,
    challenge::Challenge,
    discovery::discover,
    error::{OAuthError, RefusedBy},
    store::LoginRecord,
    token::{Form, TokenEndpoint, Tokens},
};

/// What became of the tokens of a login. They are not on this machine any more in any case.
#[derive(Debug)]
pub enum Logout {
    /// The authorization server has revoked them, too.
    Revoked,
    /// The authorization server cannot revoke tokens: they expire by themselves.
    NotRevocable,
    /// The authorization server could not be asked, or refused.
    NotRevoked(OAuthError),
    /// There were none.
    NotLoggedIn,
}

/// Removes the tokens of a login and has them revoked (RFC 7009).
///
/// # Errors
/// If they cannot be removed.
pub async fn logout(config: &AuthorizerConfig) -> Result<Logout, OAuthError> {
    let AuthorizerConfig { store, key, .. } = config;
    let Some(login) = store.login(key).await? else { return Ok(Logout::NotLoggedIn) };
    // Not while another process renews them: it would store new ones.
    let _lock = store.lock_tokens(&login).await?;
    let tokens = store.tokens(&login).await?;
    store.remove_login(key).await?;
    let Some(tokens) = tokens else { return Ok(Logout::NotLoggedIn) };
    Ok(revoke(config, &login, &tokens).await.unwrap_or_else(Logout::NotRevoked))
}

async fn revoke(
    config: &AuthorizerConfig,
    login: &LoginRecord,
    tokens: &Tokens,
) -> Result<Logout, OAuthError> {
    let AuthorizerConfig { settings, fetch, .. } = config;
    let discovery = discover(&**fetch, &login.key.server, &Challenge::default()).await?;
    let server = &discovery.server;
    if server.issuer != login.client.issuer {
        return Ok(Logout::NotRevocable); // tokens are never sent to another issuer
    }
    let Some(url) = &server.revocation_endpoint else { return Ok(Logout::NotRevocable) };
    let endpoint = TokenEndpoint {
        fetch: &**fetch,
        url,
        issuer: &server.issuer,
        client: &login.client.credentials(settings, server),
        proof_key: None,
        by: RefusedBy::Revocation,
    };
    // Revoking a refresh token ends the access tokens that came of it; not every authorization server does so.
    let all =
        [("refresh_token", tokens.refresh_token.as_ref()), ("access_token", Some(&tokens.access_token))];
    let mut outcome = Logout::NotRevocable;
    for (hint, token) in all {
        let Some(token) = token else { continue };
        let mut form = Form::default();
        form.set("token", token.expose());
        form.set("token_type_hint", hint);
        match endpoint.revoke(form).await {
            Ok(()) => outcome = Logout::Revoked,
            // Servers check signed tokens by themselves, so many authorization servers cannot revoke them.
            Err(OAuthError::Refused { code, .. }) if code == "unsupported_token_type" => {}
            Err(error) => return Err(error),
        }
    }
    Ok(outcome)
}
