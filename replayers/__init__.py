"""Everything that touches the world: models, teams, benchmarks, the journal, the task cycle."""
