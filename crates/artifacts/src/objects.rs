//! `Objects`: where the objects are, who asks for them, and by which client.

use rusty_s3::Credentials;
use sandbox::Client;

use crate::bucket::Bucket;
use crate::error::ArtifactError;
use crate::request::unavailable;

/// The objects of a bucket, on the thread whose runtime has the client's connections.
pub(crate) struct Objects {
    pub(crate) client: Client,
    pub(crate) at: Bucket,
}

impl Objects {
    /// Who we are there.
    pub(crate) fn keys(&self) -> Result<&Credentials, ArtifactError> {
        let missing = || {
            unavailable(
                "its keys are not there, which artifacts.access_key and artifacts.secret_key name".to_owned(),
            )
        };
        self.at.keys.as_ref().ok_or_else(missing)
    }
}
