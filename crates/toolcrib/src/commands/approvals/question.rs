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

/// The same with what is asked, for whoever does not answer here.
pub(super) fn whole(question: &Question) -> String {
    let forms = question.requests.as_object().into_iter().flatten();
    let messages = forms.filter_map(|(_, form)| form["params"]["message"].as_str());
    let lines = messages.flat_map(str::lines).map(|line| format!("\n    {line}")).collect::<String>();
    format!("{}{lines}", head(question))
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
