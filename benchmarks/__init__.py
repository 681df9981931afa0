"""What measuring costs, against the double; and what the parity gate finds, by simulation."""
