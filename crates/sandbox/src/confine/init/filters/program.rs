//! From rules about system calls to the instructions that the kernel runs at each call. It finds a number by halving the
//! list: at each start the kernel also runs them once for every call there is, to learn which are always allowed.

use std::mem::offset_of;

/// What is done with one call. Whatever has no rule is allowed.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) call: libc::c_long,
    /// It is allowed if all of one list hold; with no list it never is.
    pub(super) allowed: Vec<Vec<Test>>,
    /// The error that it gets otherwise.
    pub(super) errno: libc::c_int,
}

/// What an argument must be. The kernel looks at the lower half of these arguments only, and so must we.
#[derive(Debug, Clone)]
pub(super) struct Test {
    argument: usize,
    /// The bits that are looked at.
    mask: u32,
    values: Vec<u32>,
    /// Whether it must be one of the values, or none.
    is_one_of: bool,
}

impl Rule {
    pub(super) fn always(call: libc::c_long, errno: libc::c_int) -> Rule {
        Rule { call, allowed: Vec::new(), errno }
    }

    /// The kernel, too, looks at the lower half.
    fn number(&self) -> u32 {
        self.call as u32
    }
}

impl Test {
    pub(super) fn one_of(argument: usize, values: &[u32]) -> Test {
        Test { argument, mask: u32::MAX, values: values.to_vec(), is_one_of: true }
    }

    pub(super) fn none_of(argument: usize, values: &[u32]) -> Test {
        Test { is_one_of: false, ..Test::one_of(argument, values) }
    }

    pub(super) fn masked(self, mask: u32) -> Test {
        Test { mask, ..self }
    }
}

/// How the kernel calls our kind of processor: its number as an ELF machine, 64 bits, the lower byte first.
#[cfg(target_arch = "x86_64")]
pub(super) const PROCESSOR: u32 = libc::EM_X86_64 as u32 | 0xC000_0000;
#[cfg(target_arch = "aarch64")]
pub(super) const PROCESSOR: u32 = libc::EM_AARCH64 as u32 | 0xC000_0000;

/// On x86-64 the numbers from here on are those of x32, a second set of names for the same calls.
const X32: u32 = 0x4000_0000;

/// A list this short is gone through one by one. At a start the kernel runs the filter once for each call there is, and
/// translates each instruction: shorter lists make the former faster and the latter slower.
const LEAF: usize = 4;

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IF_AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const JUMP: u32 = libc::BPF_JMP | libc::BPF_JA;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

type Instruction = libc::sock_filter;

/// The instructions. A call of another kind of processor than ours ends the program: its numbers mean other calls.
pub(super) fn assemble(mut rules: Vec<Rule>) -> Vec<Instruction> {
    rules.sort_by_key(Rule::number);
    let kill = plain(RETURN, libc::SECCOMP_RET_KILL_PROCESS);
    let mut program = vec![plain(LOAD, offset_of!(libc::seccomp_data, arch) as u32)];
    program.extend([branch(IF_EQUAL, PROCESSOR, 1, 0), kill]);
    program.push(plain(LOAD, offset_of!(libc::seccomp_data, nr) as u32));
    if cfg!(target_arch = "x86_64") {
        program.extend([branch(IF_AT_LEAST, X32, 0, 1), kill]);
    }
    program.extend(search(&rules));
    program
}

fn search(rules: &[Rule]) -> Vec<Instruction> {
    let (below, from) = rules.split_at(rules.len() / 2);
    let (Some(middle), true) = (from.first(), rules.len() > LEAF) else {
        let mut found: Vec<Instruction> = rules.iter().flat_map(look_at).collect();
        found.push(plain(RETURN, libc::SECCOMP_RET_ALLOW));
        return found;
    };
    let mut all = only_if(IF_AT_LEAST, middle.number(), search(from));
    all.extend(search(below));
    all
}

/// Answers if it is this call.
fn look_at(rule: &Rule) -> Vec<Instruction> {
    let mut answer: Vec<Instruction> = rule.allowed.iter().flat_map(|tests| allow_if(tests)).collect();
    answer.push(plain(RETURN, libc::SECCOMP_RET_ERRNO | rule.errno.unsigned_abs()));
    only_if(IF_EQUAL, rule.number(), answer)
}

/// Goes on with `then` if it is so, and behind that otherwise.
fn only_if(code: u32, k: u32, then: Vec<Instruction>) -> Vec<Instruction> {
    let mut all = match u8::try_from(then.len()) {
        Ok(over) => vec![branch(code, k, 0, over)],
        // Farther than a branch leads.
        Err(_) => vec![branch(code, k, 1, 0), skip(&then)],
    };
    all.extend(then);
    all
}

/// Goes on behind it if one of the tests does not hold.
fn allow_if(tests: &[Test]) -> Vec<Instruction> {
    let allow = vec![plain(RETURN, libc::SECCOMP_RET_ALLOW)];
    tests.iter().rfold(allow, |held, test| test.before(held))
}

impl Test {
    /// Goes on with `held` if it holds, and behind that otherwise.
    fn before(&self, held: Vec<Instruction>) -> Vec<Instruction> {
        let mut all = held;
        let to_held = all.len();
        if self.is_one_of {
            all.insert(0, skip(&all));
        }
        for value in &self.values {
            let over = if self.is_one_of { all.len() - to_held } else { all.len() };
            all.splice(0..0, [branch(IF_EQUAL, *value, 0, 1), plain(JUMP, over as u32)]);
        }
        let at = offset_of!(libc::seccomp_data, args) + self.argument * size_of::<u64>();
        // Of both halves of an argument the lower one comes first.
        all.splice(0..0, [plain(LOAD, at as u32), plain(AND, self.mask)]);
        all
    }
}

fn plain(code: u32, k: u32) -> Instruction {
    branch(code, k, 0, 0)
}

/// Skips so many instructions, if it is so and if it is not.
fn branch(code: u32, k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction { code: code as u16, jt, jf, k }
}

fn skip(instructions: &[Instruction]) -> Instruction {
    plain(JUMP, instructions.len() as u32)
}

/// What the kernel would answer, for tests.
#[cfg(test)]
pub(super) fn run(program: &[Instruction], processor: u32, call: u32, arguments: [u64; 6]) -> u32 {
    let (mut at, mut held) = (0, 0);
    let read = |offset: u32| match offset {
        0 => call,
        4 => processor,
        offset => (arguments[(offset as usize - 16) / 8] >> (offset % 8 * 8)) as u32,
    };
    loop {
        let Instruction { code, jt, jf, k } = program[at];
        at += 1;
        let branch = |is_so| usize::from(if is_so { jt } else { jf });
        match u32::from(code) {
            LOAD => held = read(k),
            AND => held &= k,
            IF_EQUAL => at += branch(held == k),
            IF_AT_LEAST => at += branch(held >= k),
            JUMP => at += k as usize,
            RETURN => return k,
            other => panic!("{other:#x}"),
        }
    }
}
