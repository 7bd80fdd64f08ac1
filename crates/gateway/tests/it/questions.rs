//! Servers that ask in the middle of a call, of either era, with clients of either era.

mod asker; // servers that ask what they are told to ask
mod crossing; // a client of one era, a server of the other
mod parked; // what may happen to a call that waits
