//! Frames on the wire: exact arithmetic between link rate, frame size, packets per second and goodput.
