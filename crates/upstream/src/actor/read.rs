//! Reading what a server lists.

use std::sync::Arc;

use futures_util::future::join_all;
use pins::Conceal;
use wire::Code;

use crate::connection::{Connection, Era};
use crate::error::ConnectError;
use crate::kind::Kind;
use crate::listing::{self, Listed};
use crate::lists::{Lists, completed, nothing_said};
use crate::upstream::Upstream;

impl Upstream {
    /// Asks for all lists that the server says it has. One that cannot be read does not take the others away.
    ///
    /// # Errors
    /// If there are lists and none can be read.
    pub(crate) async fn read_lists(&self, connection: &Arc<Connection>) -> Result<Lists, ConnectError> {
        let identity = &connection.identity;
        let capabilities = identity.capabilities.clone().unwrap_or_else(|| nothing_said("{}"));
        let capabilities = completed(capabilities, connection.revision());
        let era = if connection.is_modern() { Era::Modern } else { Era::Legacy };
        let mut lists = Lists::none(capabilities, identity.instructions.as_deref(), Some(era));
        lists.is_era_certain = self.era().is_some();
        let wanted: Vec<Kind> = Kind::ALL.into_iter().filter(|&kind| lists.has(kind)).collect();
        let reading = wanted.iter().map(|&kind| self.read_list(connection, kind));
        for (kind, read) in wanted.iter().zip(join_all(reading).await) {
            match read {
                Ok(listed) => lists = lists.with(listed),
                Err(error) => lists.unread.push((*kind, error)),
            }
        }
        match lists.unread.first() {
            Some((_, error)) if lists.unread.len() == wanted.len() => Err(error.clone()),
            _ => Ok(lists),
        }
    }

    /// Asks for one list. A server that does not know the question has none: many have resources and no
    /// templates.
    pub(crate) async fn read_list(
        &self,
        connection: &Arc<Connection>,
        kind: Kind,
    ) -> Result<Listed, ConnectError> {
        let read =
            self.within(self.settings.limits.list, kind.what(), listing::fetch(connection, kind)).await;
        match read {
            Err(ConnectError::Refused { code, .. })
                if code == Code::MethodNotFound.number() && kind != Kind::Tools =>
            {
                Ok(Listed::new(kind))
            }
            read => read.map(|listed| match self.conceal() {
                Some(conceal) => listed.concealed(conceal),
                None => listed,
            }),
        }
    }

    /// Reads what was remembered of it, as [`Lists::remembered`] does.
    pub(crate) fn remembered(&self, text: &str) -> Option<Lists> {
        let mut lists = Lists::remembered(text)?;
        if let Some(conceal) = self.conceal() {
            lists.all = lists.all.map(|listed| Arc::new(Arc::unwrap_or_clone(listed).concealed(conceal)));
        }
        Some(lists)
    }

    fn conceal(&self) -> Option<&Conceal> {
        self.world.pins.as_ref().map(|pinning| &pinning.conceal)
    }
}
