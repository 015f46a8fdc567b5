"""The role gateway: an address per role, by which any team becomes a host without an adapter."""
