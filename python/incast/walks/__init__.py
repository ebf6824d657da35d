"""Random walks on a graph that people bring: read, walked, and made into results.

`incast.walks.run` does all of it. In memory the walks are the core's (crates/walk); not here: walks in
scenarios (`incast.kinds.walk`). This file loads nothing: a server needs only `incast.walks.member`.
"""
