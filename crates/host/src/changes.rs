//! What changed, for those who tell clients.

use std::sync::Arc;

use tokio::sync::broadcast;
use toolbay_protocol::{Notification, ServerName};
use toolbay_upstream::CatalogKind;

/// Something that clients may want to know.
#[derive(Debug, Clone)]
pub enum HostChange {
    /// A merged list is another now.
    List(CatalogKind),
    /// A resource was updated; the server's own notification.
    Resource { server: ServerName, notification: Arc<Notification> },
    /// A task of 2025-11-25 stands otherwise; the server's own notification.
    Task { server: ServerName, notification: Arc<Notification> },
}

/// Changes from now on. A reader that falls behind is told how many it missed.
pub type HostChanges = broadcast::Receiver<HostChange>;
