//! What the players get: one utility in [-1, 1] each.

use crate::Player;
use std::fmt;
use std::ops::{Index, IndexMut};

/// The most players a game may have.
pub const MAX_PLAYERS: usize = 8;

/// One utility in [-1, 1] per player: win 1, draw 0, loss -1. Small and `Copy`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Payoffs {
    values: [f32; MAX_PLAYERS],
    players: u8,
}

impl Payoffs {
    /// Nothing for anybody.
    #[inline]
    pub fn draw(players: usize) -> Self {
        debug_assert!(players <= MAX_PLAYERS);
        Payoffs { values: [0.0; MAX_PLAYERS], players: players as u8 }
    }

    /// 1 for the winner and -1 for the other, in a game of two.
    #[inline]
    pub fn win(winner: Player) -> Self {
        Payoffs::of(winner, 1.0)
    }

    /// `value` for this player and its negative for the other, in a game of two.
    #[inline]
    pub fn of(player: Player, value: f32) -> Self {
        let mut p = Payoffs::draw(2);
        p.values[player.index()] = value;
        p.values[player.index() ^ 1] = -value;
        p
    }

    /// As listed.
    ///
    /// # Panics
    /// With more than [`MAX_PLAYERS`] values.
    pub fn from_slice(values: &[f32]) -> Self {
        let mut p = Payoffs::draw(values.len());
        p.values[..values.len()].copy_from_slice(values);
        p
    }

    /// The values, by player.
    #[inline]
    pub fn as_slice(&self) -> &[f32] {
        &self.values[..self.players as usize]
    }

    /// The number of players.
    #[inline]
    pub fn players(&self) -> usize {
        self.players as usize
    }
}

impl Index<Player> for Payoffs {
    type Output = f32;
    #[inline]
    fn index(&self, p: Player) -> &f32 {
        &self.values[p.index()]
    }
}

impl IndexMut<Player> for Payoffs {
    #[inline]
    fn index_mut(&mut self, p: Player) -> &mut f32 {
        &mut self.values[p.index()]
    }
}

/// A list of numbers, one a player.
#[cfg(feature = "serde")]
impl serde::Serialize for Payoffs {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.as_slice().serialize(s)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Payoffs {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let values = Vec::<f32>::deserialize(d)?;
        match values.len() {
            1..=MAX_PLAYERS => Ok(Payoffs::from_slice(&values)),
            n => Err(serde::de::Error::invalid_length(n, &"payoffs of 1 to 8 players")),
        }
    }
}

/// Separated by spaces, as the engine protocol prints them: `1 -1`.
impl fmt::Display for Payoffs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, v) in self.as_slice().iter().enumerate() {
            write!(f, "{}{}", if i > 0 { " " } else { "" }, v)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payoffs_print_as_the_protocol_says() {
        assert_eq!(Payoffs::win(Player(1)).to_string(), "-1 1");
        assert_eq!(Payoffs::draw(3).to_string(), "0 0 0");
        assert_eq!(Payoffs::from_slice(&[0.5, -1.0, 1.0]).to_string(), "0.5 -1 1");
    }
}
