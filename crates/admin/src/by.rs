//! Who has an operation done. Whatever decides for a person wants a [`Person`], which only a look at the processes of this
//! machine makes, so no carrier of operations can forget it.

use gate::approvals::{Approvals, Asker, Code, present};
use gate::{Caller, Via};
use sandbox::Machine;

use crate::fault::Fault;

/// Who has an operation done.
#[derive(Debug, Clone)]
pub struct By {
    caller: Caller,
    person: Option<Person>,
}

/// A person at the terminal of this process, and not an agent that has a shell.
#[derive(Debug, Clone)]
pub struct Person {
    /// The processes of clients, which it is none of.
    clients: Vec<Asker>,
    /// The code that only a person knows, as it was typed.
    code: Option<Code>,
}

impl By {
    /// The owner of the state folder, of whom nobody has found out whether it is a person or a program.
    pub fn owner() -> By {
        By { caller: Caller::local_user(Via::CommandLine), person: None }
    }

    /// Somebody over HTTP, whom the transport knows.
    pub fn caller_of(caller: &Caller) -> By {
        By { caller: caller.clone(), person: None }
    }

    /// The owner in person.
    pub fn person(person: Person) -> By {
        By { person: Some(person), ..By::owner() }
    }

    /// Who it is to the gate.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The person, for what is a person's to say.
    ///
    /// # Errors
    /// Nobody has found out that it is one.
    pub fn in_person(&self) -> Result<&Person, Fault> {
        self.person.as_ref().ok_or_else(|| {
            not_a_person("nobody is at a terminal where this is carried; use the command of the same name")
        })
    }
}

impl Person {
    /// Sees to it that a person can be at this process: it has a terminal, and neither stems from one of these `clients`
    /// or `askers` nor shares a terminal or session with it. The clients are remembered for later looks.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub fn at_terminal(clients: Vec<Asker>, askers: &[Asker]) -> Result<Person, Fault> {
        let person = Person { clients, code: None };
        person.is_none_of(askers)?;
        Ok(person)
    }

    /// The same person, who has typed this code.
    #[must_use]
    pub fn with_code(self, code: Option<Code>) -> Person {
        Person { code, ..self }
    }

    /// Sees to it that this person is at none of these processes either: those that a question came from.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub fn is_none_of(&self, askers: &[Asker]) -> Result<(), Fault> {
        let all: Vec<Asker> = askers.iter().chain(&self.clients).copied().collect();
        present(&Machine, std::process::id(), &all).map_err(|why| not_a_person(&why.to_string()))
    }

    /// Looks at the code, if there is one to be given. Blocks on the disk.
    ///
    /// # Errors
    /// It was not given, or is another one.
    pub(crate) fn pass(&self, approvals: &Approvals) -> Result<(), Fault> {
        Ok(approvals.check_code(self.code.as_ref())?)
    }

    pub(crate) fn code(&self) -> Option<&Code> {
        self.code.as_ref()
    }
}

fn not_a_person(why: &str) -> Fault {
    let message = format!("this is for a person to say, and {why}; do it in a terminal of your own");
    Fault::refused("not_a_person", message)
}
