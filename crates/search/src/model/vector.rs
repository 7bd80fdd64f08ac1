//! Vectors of one byte per dimension.

/// How many numbers a vector has.
pub const DIM: usize = 256;

/// A direction: what a text is about. Of length one, or zero for a text without a known word.
#[derive(Clone, PartialEq)]
pub struct Vector {
    values: [i8; DIM],
    /// One value of `values` in units of the whole.
    scale: f32,
}

impl Vector {
    /// Bytes that [`Vector::to_bytes`] gives.
    pub const BYTES: usize = DIM + 4;
    /// The vector of nothing: no closer to anything than to anything else.
    pub const ZERO: Self = Self { values: [0; DIM], scale: 0.0 };

    /// The direction of a sum.
    pub fn from_sum(sum: &[f32; DIM]) -> Self {
        let largest = sum.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        if !largest.is_normal() {
            return Self::ZERO;
        }
        let fit = 127.0 / largest;
        let mut values = [0; DIM];
        for (value, from) in values.iter_mut().zip(sum) {
            *value = (from * fit).round() as i8;
        }
        // The length of what is kept, not of what was given: rounding then changes the direction only.
        let square: i32 = values.iter().map(|value| i32::from(*value) * i32::from(*value)).sum();
        Self { values, scale: 1.0 / (square as f32).sqrt() }
    }

    /// Adds itself, `times` over, to a sum.
    pub fn add_to(&self, sum: &mut [f32; DIM], times: f32) {
        let factor = times * self.scale;
        for (sum, value) in sum.iter_mut().zip(&self.values) {
            *sum += factor * f32::from(*value);
        }
    }

    /// How alike two texts are: the cosine, from -1 to 1.
    pub fn dot(&self, other: &Self) -> f32 {
        let sum: i32 =
            self.values.iter().zip(&other.values).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        sum as f32 * self.scale * other.scale
    }

    /// For comparing one with many.
    pub fn probe(&self) -> Probe {
        Probe { values: self.values.map(i16::from), scale: self.scale }
    }

    /// The values, one byte each; with [`Vector::scale`] all there is to it.
    pub fn values(&self) -> &[i8; DIM] {
        &self.values
    }

    /// What one unit of a value is worth.
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// As it can be kept: the values, then the scale.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        for (byte, value) in bytes.iter_mut().zip(&self.values) {
            *byte = value.cast_unsigned();
        }
        bytes[DIM..].copy_from_slice(&self.scale.to_le_bytes());
        bytes
    }

    /// What [`Vector::to_bytes`] gave. Any bytes make a vector; a scale that is no number makes it zero.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let mut values = [0; DIM];
        for (value, byte) in values.iter_mut().zip(bytes) {
            *value = byte.cast_signed();
        }
        let scale = f32::from_le_bytes([bytes[DIM], bytes[DIM + 1], bytes[DIM + 2], bytes[DIM + 3]]);
        Self { values, scale: if scale.is_finite() { scale } else { 0.0 } }
    }
}

impl std::fmt::Debug for Vector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vector({:?}… × {})", &self.values[..4], self.scale)
    }
}

/// A vector laid out for comparing it with very many.
#[derive(Debug, Clone)]
pub struct Probe {
    values: [i16; DIM],
    scale: f32,
}

impl Probe {
    /// The cosine with a vector that is given by its values, one byte each, and its scale.
    pub fn dot(&self, values: &[u8; DIM], scale: f32) -> f32 {
        // Pairs of products fit into 32 bits: compilers make one instruction of eight of these.
        let sum: i32 =
            self.values.iter().zip(values).map(|(a, b)| i32::from(*a) * i32::from(b.cast_signed())).sum();
        sum as f32 * self.scale * scale
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vector(seed: &[f32]) -> Vector {
        let mut sum = [0.0; DIM];
        for (at, sum) in sum.iter_mut().enumerate() {
            *sum = seed[at % seed.len()] * (1.0 + at as f32);
        }
        Vector::from_sum(&sum)
    }

    #[test]
    fn nothing_is_like_nothing() {
        assert_eq!(Vector::from_sum(&[0.0; DIM]), Vector::ZERO);
        assert_eq!(Vector::from_sum(&[f32::NAN; DIM]), Vector::ZERO);
        assert_eq!(Vector::ZERO.dot(&vector(&[1.0])), 0.0);
    }

    #[test]
    fn opposite_and_right_angle() {
        assert!((vector(&[1.0]).dot(&vector(&[-1.0])) + 1.0).abs() < 1e-3);
        let (even, odd) = (vector(&[1.0, 0.0]), vector(&[0.0, 1.0]));
        assert_eq!(even.dot(&odd), 0.0);
    }

    proptest! {
        #[test]
        fn every_direction_survives(seed in prop::collection::vec(-1e3_f32..1e3, 1..40)) {
            let vector = vector(&seed);
            if vector == Vector::ZERO {
                return Ok(());
            }
            prop_assert!((vector.dot(&vector) - 1.0).abs() < 1e-4);
            let bytes = vector.to_bytes();
            prop_assert_eq!(&Vector::from_bytes(&bytes), &vector);
            let values: &[u8; DIM] = bytes[..DIM].try_into().unwrap();
            prop_assert!((vector.probe().dot(values, vector.scale()) - 1.0).abs() < 1e-4);
        }
    }
}
