//! Who goes first.
//!
//! Each participant must be first as often as second and so on: a machine that becomes slower within a round would speak
//! against those that come late. And each must come as often right after any other one: what one leaves behind (warm
//! caches, a warm processor, dirty pages) is the next one's. The rows of a Williams design (1949) do both: one row a round,
//! each the row before with everybody moved on by one, A B C, B C A, C A B; with four, A B D C, B C A D and so on. For an odd
//! number of participants half of what follows what is in the mirrored rows, C B A and so on. So every second cycle of
//! rows is mirrored, for an even number too: what changes steadily from cycle to cycle then meets all alike.

/// The order in a round of so many participants: their numbers from 0. Balanced after every `2 * count` rounds.
pub fn of_round(round: u32, count: usize) -> Vec<usize> {
    let round = usize::try_from(round).unwrap_or_default();
    let moved = round.checked_rem(count).unwrap_or_default();
    let mirrored = round.checked_div(count).unwrap_or_default() % 2 == 1;
    // 0, 1, last, 2, last but one …: the steps from one to the next are all different.
    let first = (0..count).map(|at| match at {
        0 => 0,
        at if at % 2 == 1 => at.div_ceil(2),
        at => count - at / 2,
    });
    let mut row: Vec<usize> = first.map(|number| (number + moved) % count).collect();
    if mirrored {
        row.reverse();
    }
    row
}

#[cfg(test)]
mod tests {
    use super::of_round;
    use std::collections::BTreeMap;

    #[test]
    fn two_and_three_take_turns() {
        let rows = |count| (0..2 * count as u32).map(|round| of_round(round, count)).collect::<Vec<_>>();
        assert_eq!(rows(2), [[0, 1], [1, 0], [1, 0], [0, 1]]);
        assert_eq!(rows(3), [[0, 1, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [0, 2, 1], [1, 0, 2]]);
        assert_eq!(of_round(7, 1), [0]);
        assert!(of_round(7, 0).is_empty());
    }

    #[test]
    fn everybody_has_every_place_and_every_neighbour_equally_often() {
        for count in 2..=9 {
            let mut places = BTreeMap::new();
            let mut neighbours = BTreeMap::new();
            for round in 0..2 * count as u32 {
                let row = of_round(round, count);
                for (place, who) in row.iter().enumerate() {
                    *places.entry((place, *who)).or_insert(0) += 1;
                }
                for pair in row.windows(2) {
                    *neighbours.entry((pair[0], pair[1])).or_insert(0) += 1;
                }
            }
            assert_eq!(places.len(), count * count);
            assert!(places.values().all(|times| *times == 2), "{count}: {places:?}");
            assert_eq!(neighbours.len(), count * (count - 1));
            assert!(neighbours.values().all(|times| *times == 2), "{count}: {neighbours:?}");
        }
    }
}
