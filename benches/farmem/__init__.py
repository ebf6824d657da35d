"""What remote memory costs beside the wait for it."""
