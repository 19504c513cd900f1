"""Planning: from the configuration to runs, what each costs, and what a person may ask for."""
