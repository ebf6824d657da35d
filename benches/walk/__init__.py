"""Random walks in memory: steps per second of processor time, compared with other libraries."""
