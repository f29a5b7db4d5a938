//! `approvals pin`: the code that only a person knows.

use admin::Fault;
use daemon::person;
use gate::Approvals;
use terminal::{Ending, Trouble, print};

/// Sets, changes or removes the code. Who changes it gives the old one.
pub(super) fn run(kept: &Approvals, remove: bool) -> Result<Ending, Trouble> {
    let has_code = kept.has_code().map_err(Trouble::because)?;
    if remove && !has_code {
        print::remark("there is no code for approvals");
        return Ok(Ending::Good);
    }
    let old = has_code.then(|| person::typed_code("Present code (it is not shown):")).transpose()?;
    // Before two new ones are typed for nothing.
    kept.check_code(old.as_ref()).map_err(Fault::from)?;
    let new = match remove {
        true => None,
        false => {
            let new = person::typed_code("New code, at least 4 characters (it is not shown):")?;
            if person::typed_code("The same again:")? != new {
                return Err(Trouble::Misused("the two are not the same, so nothing was changed".to_owned()));
            }
            Some(new)
        }
    };
    kept.set_code(old.as_ref(), new.as_ref()).map_err(Fault::from)?;
    print::line(match remove {
        true => "approvals take no code any more",
        false => "from now on nothing is allowed without this code; it cannot be shown again",
    })?;
    Ok(Ending::Good)
}
