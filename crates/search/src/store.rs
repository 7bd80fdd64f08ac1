//! Indexes on disk: written anew and renamed, checked when read, rebuilt when in doubt.
