//! Who must do something about an error.

use toolbay_protocol::ErrorCode;
use toolbay_upstream::{CallError, Failure, HttpError};

use super::Error;

/// Who must do something about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Whoever made the call: a name, arguments, the order of things.
    Caller,
    /// Whoever set things up: a missing program, a wrong URL, missing credentials.
    Setup,
    /// The server, or who wrote it.
    Server,
    /// The way to the server.
    Network,
}

impl Error {
    /// Who must do something about it.
    pub fn whose_fault(&self) -> Fault {
        match self {
            Self::ServerNotFound { .. }
            | Self::ToolNotFound { .. }
            | Self::PromptNotFound { .. }
            | Self::ResourceNotFound { .. }
            | Self::CallerTimeout { .. }
            | Self::Refused { .. }
            | Self::Busy(_)
            | Self::NotInitialized { .. }
            | Self::AlreadyInitialized { .. } => Fault::Caller,
            Self::Config(_) | Self::Setup { .. } | Self::Schema { .. } | Self::NotRunning { .. } => {
                Fault::Setup
            }
            Self::Protocol { .. } => Fault::Server,
            Self::Init { failure, .. } => fault_of(failure),
            Self::Connection(error) | Self::Timeout(error) => match error {
                CallError::Died { failure, .. } | CallError::Down { failure, .. } => fault_of(failure),
                CallError::Stopped { .. } => Fault::Caller,
                CallError::NoAnswer { why, .. } => fault_on_the_way(why),
                _ => Fault::Server,
            },
            Self::Server { code, .. } => match *code {
                ErrorCode::INVALID_PARAMS | ErrorCode::INVALID_REQUEST | ErrorCode::METHOD_NOT_FOUND => {
                    Fault::Caller
                }
                _ => Fault::Server,
            },
        }
    }
}

fn fault_of(failure: &Failure) -> Fault {
    match failure {
        Failure::Spawn { .. } | Failure::Handshake { .. } | Failure::Neither { .. } => Fault::Setup,
        failure if failure.is_address_in_use() => Fault::Setup,
        Failure::Remote { why } => fault_on_the_way(why),
        // It ended, said nothing in time, or whatever else a server should not do.
        _ => Fault::Server,
    }
}

fn fault_on_the_way(why: &HttpError) -> Fault {
    match why {
        why if why.is_unauthorized() => Fault::Setup,
        HttpError::Garbled { .. } | HttpError::TooLong { .. } => Fault::Server,
        _ => Fault::Network,
    }
}
