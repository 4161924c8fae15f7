"""What a fit says about rows and regions."""
