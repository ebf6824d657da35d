"""`incast view`: a page that plays runs back, on this machine only.

`answers` turns what a page asks into JSON and arrays of numbers. `server` carries that over HTTP on the
loopback, `widget` over a notebook's own channel. The page itself is in `static/`.
"""
