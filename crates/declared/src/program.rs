//! `Program`: a tool whose work a program does.

use futures_util::future::BoxFuture;
use serde_json::Value;
use tool_api::{AnyTool, Arguments, Block, Command, Context, Definition, Outcome, Payload, ToolError};

use crate::attempts::Attempts;
use crate::dry_run::DryRun;
use crate::printed::{INVALID_OUTPUT, Printed};
use crate::template::Template;
use crate::told::{Meter, Told};

pub(crate) struct Program {
    pub(crate) definition: Definition,
    pub(crate) template: Template,
    pub(crate) dry_run: Option<DryRun>,
    pub(crate) retries: u8,
    /// Whether the program sees the workspace.
    pub(crate) sees_workspace: bool,
}

impl AnyTool for Program {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move {
            let (arguments, is_dry) = DryRun::said(self.dry_run, arguments.value());
            let meter = Meter::new(cx, self.definition.name.as_str());
            let mut attempts = Attempts::of(self.retries);
            loop {
                match self.run_once(&arguments, is_dry, cx, &meter).await {
                    Ok((value, handles)) => return Ok(outcome(&self.definition, &value, handles)),
                    Err(failure) => attempts.after(failure, &meter).await?,
                }
            }
        })
    }
}

impl Program {
    /// What the program gives, and what is to be said of its artifacts.
    async fn run_once(
        &self,
        arguments: &Value,
        is_dry: bool,
        cx: &Context,
        meter: &Meter<'_>,
    ) -> Result<(Value, Option<String>), ToolError> {
        self.template.held_to_us().await?;
        let name = self.definition.name.as_str();
        let command = Command {
            program: self.template.program.clone(),
            args: self.template.words(arguments)?,
            input: arguments.to_string().into(),
            // The call ends by its own deadline, and its program with it.
            time_max: None,
            tells: true,
            looks_only: is_dry,
            ..Command::default()
        };
        let process = cx.process()?.start(command).await?;
        let mut told = Told::by(meter, self.sees_workspace);
        let value = match Printed::by(process, name, &mut told).await {
            Ok(printed) => {
                let value = printed.value(name);
                if value.as_ref().is_err_and(|failure| &**failure.code() == INVALID_OUTPUT) {
                    // Whoever repairs the tool wants to see what it printed.
                    told.keep_whole(printed.stdout).await;
                }
                value
            }
            Err(failure) => Err(failure),
        };
        let made = told.end().await;
        match value {
            Ok(value) => Ok((value, made.handles())),
            Err(failure) => Err(made.beside(failure)),
        }
    }
}

/// A value for readers, and for programs where the manifest says what it is; and what else there is to say to readers.
pub(crate) fn outcome(definition: &Definition, value: &Value, more: Option<String>) -> Outcome {
    let text = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let structured = definition.output_schema.is_some().then(|| value.to_string().into());
    Outcome::of(Payload::Ours {
        blocks: [Some(text), more].into_iter().flatten().map(Block::Text).collect(),
        structured,
    })
}
