//! The operations that can be steps of a simulation.

/// An operation. What each does, and its arguments, is told at [`super::Session::perform`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Register,
    Validate,
    Machines,
    Machine,
    DeleteMachine,
    Create,
    Adopt,
    Evaluate,
    Transition,
    Explain,
    Events,
    Entity,
    Tree,
    History,
    Entities,
    Delete,
    Release,
    Diagram,
    Tick,
    Advance,
    Due,
    Effects,
    Deliver,
}

impl Op {
    /// The operation of that name.
    pub(super) fn read(name: &str) -> Option<Self> {
        Some(match name {
            "register" => Self::Register,
            "validate" => Self::Validate,
            "machines" => Self::Machines,
            "machine" => Self::Machine,
            "delete_machine" => Self::DeleteMachine,
            "create" => Self::Create,
            "adopt" => Self::Adopt,
            "evaluate" => Self::Evaluate,
            "transition" => Self::Transition,
            "explain" => Self::Explain,
            "events" => Self::Events,
            "entity" => Self::Entity,
            "tree" => Self::Tree,
            "history" => Self::History,
            "entities" => Self::Entities,
            "delete" => Self::Delete,
            "release" => Self::Release,
            "diagram" => Self::Diagram,
            "tick" => Self::Tick,
            "advance" => Self::Advance,
            "due" => Self::Due,
            "effects" => Self::Effects,
            "deliver" => Self::Deliver,
            _ => return None,
        })
    }

    /// Whether it changes the world, and so is a step; others only look.
    pub(super) fn changes(self) -> bool {
        match self {
            Self::Register
            | Self::DeleteMachine
            | Self::Create
            | Self::Adopt
            | Self::Evaluate
            | Self::Transition
            | Self::Delete
            | Self::Release
            | Self::Tick
            | Self::Advance
            | Self::Deliver => true,
            Self::Validate
            | Self::Machines
            | Self::Machine
            | Self::Explain
            | Self::Events
            | Self::Entity
            | Self::Tree
            | Self::History
            | Self::Entities
            | Self::Diagram
            | Self::Due
            | Self::Effects => false,
        }
    }

    /// The status that it is answered with when it is done.
    pub(super) fn success(self) -> u16 {
        match self {
            Self::Register | Self::Create | Self::Adopt => 201,
            Self::Delete | Self::DeleteMachine => 204,
            _ => 200,
        }
    }
}
