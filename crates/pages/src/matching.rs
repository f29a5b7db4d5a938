//! Which elements of a tree fit a selector. The tree is walked once, whatever the selector: each element knows which steps those
//! above it fit, as the bits of a number, so that neither a deep page nor a long selector makes anybody look twice.

use std::rc::Rc;

use htmd::Node;
use markup5ever_rcdom::NodeData;
use selectors::{Compound, Condition, Selector, Step, Within};

/// A selector as it is walked with.
struct Steps<'s> {
    /// Those of all alternatives, one after the other.
    steps: Vec<&'s Step>,
    /// The bits of the last of each.
    ends: u32,
}

/// The first `most` elements of a tree that fit, in the order of the page. The root of the tree can be one of them, and what lies
/// above it does not count.
pub(crate) fn matching(tree: &Rc<Node>, selector: &Selector, most: usize) -> Vec<Rc<Node>> {
    let steps = Steps::of(selector);
    let (mut found, mut left) = (Vec::new(), vec![(tree.clone(), 0, 0)]);
    while let Some((node, parent, above)) = left.pop() {
        let fits = steps.fitting(&node, parent, above);
        if fits & steps.ends != 0 {
            found.push(node.clone());
            if found.len() >= most {
                break;
            }
        }
        let children = node.children.borrow();
        left.extend(children.iter().rev().map(|child| (child.clone(), fits, above | fits)));
    }
    found
}

impl Steps<'_> {
    fn of(selector: &Selector) -> Steps<'_> {
        let (mut steps, mut ends) = (Vec::new(), 0);
        for alternative in &selector.alternatives {
            steps.extend(alternative);
            // There are no more steps than bits.
            ends |= 1 << (steps.len() - 1);
        }
        Steps { steps, ends }
    }

    /// The steps that this element fits, where its parent and all above it fit these.
    fn fitting(&self, node: &Node, parent: u32, above: u32) -> u32 {
        let is_reached = |nth: usize, within| match within {
            Within::Page => true,
            Within::Parent => parent & (1 << (nth - 1)) != 0,
            Within::Ancestor => above & (1 << (nth - 1)) != 0,
        };
        let fits = |(nth, step): &(usize, &&Step)| is_reached(*nth, step.within) && is(node, &step.compound);
        self.steps.iter().enumerate().filter(fits).fold(0, |bits, (nth, _)| bits | 1 << nth)
    }
}

/// Whether an element is this. Small and large letters of names are the same, as browsers have it; those of values are not.
fn is(node: &Node, Compound { name: wanted, conditions }: &Compound) -> bool {
    let NodeData::Element { name, attrs, .. } = &node.data else { return false };
    let attributes = attrs.borrow();
    let holds = |Condition { attribute, test }: &Condition| {
        attributes.iter().any(|found| {
            let is_it = found.name.ns.is_empty() && (*found.name.local).eq_ignore_ascii_case(attribute);
            is_it && test.passes(&found.value)
        })
    };
    wanted.as_ref().is_none_or(|wanted| (*name.local).eq_ignore_ascii_case(wanted))
        && conditions.iter().all(holds)
}

#[cfg(test)]
mod tests;
