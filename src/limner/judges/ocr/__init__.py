"""The examiner that reads labels and needs no model."""
