//! `Tried`: what came of one call of a manifest, and telling it.

use std::time::Duration;

use serde_json::{Value, json};
use terminal::{Ending, Trouble, print};

/// What came of one call.
pub(super) struct Tried {
    pub(super) arguments: Value,
    /// A result, or the code and the sentence of a failure.
    pub(super) came: Result<Value, (String, String)>,
    /// Why it is not what it should be; nothing if it is.
    pub(super) fault: Option<String>,
    pub(super) ending: Ending,
    pub(super) took: Duration,
}

impl Tried {
    pub(super) fn say(&self, is_barred: bool) -> Result<(), Trouble> {
        let came = match (&self.came, &self.fault) {
            (Ok(result), None) => format!("good: {result}"),
            (Err((code, _)), None) => format!("good: {code}, as it should"),
            (Ok(_), Some(_)) => "other than the fixture says".to_owned(),
            (Err((code, _)), Some(_)) => code.clone(),
        };
        print::line(&format!("{}\n  {came}", self.arguments))?;
        self.fault.iter().for_each(|why| print::error(why));
        if is_barred {
            print::remark("it was not made in earnest, since the dry run failed");
        }
        Ok(())
    }

    pub(super) fn fact(&self) -> Value {
        match &self.came {
            Ok(result) => json!({ "arguments": self.arguments, "result": result }),
            Err((code, message)) => {
                json!({ "arguments": self.arguments, "error": { "code": code, "message": message } })
            }
        }
    }
}
