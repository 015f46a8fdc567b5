"""The data that ships: task streams, planning domains and recorded examples."""
