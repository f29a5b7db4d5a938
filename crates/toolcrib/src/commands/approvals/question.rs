//! What agents ask whoever watches, as a person sees it.

use admin::{By, Operation as _, Person, questions as operations};
use gate::Approvals;
use gate::questions::Question;
use serde_json::{Map, Value};
use terminal::print;
use terminal::times::shown_here;

/// Who asks, where and when; what is asked the form says.
pub(super) fn head(question: &Question) -> String {
    let Question { id, caller, workspace, asked_at_ms, .. } = question;
    let asked = shown_here(*asked_at_ms);
    format!("question     {id}\ncaller       {caller}\nworkspace    {workspace}\nasked        {asked}")
}

/// What the forms of an `inputRequests` object ask, in lines that stand further right than any of ours.
pub(super) fn messages(forms: &Map<String, Value>) -> String {
    let messages = forms.values().filter_map(|form| form["params"]["message"].as_str());
    messages.flat_map(str::lines).map(|line| format!("\n    {line}")).collect()
}

/// Gives the person's answer to whoever waits for it.
pub(super) fn answer(kept: &Approvals, question: &Question, responses: Map<String, Value>, person: &Person) {
    let answer = operations::Answer { id: question.id.to_string(), responses };
    match answer.perform(kept, &By::person(person.clone())) {
        Ok(answered) => {
            print::remark(&format!("answered {}: the agent of {} goes on", answered.id, answered.caller))
        }
        Err(fault) => print::remark(&fault.to_string()),
    }
}
