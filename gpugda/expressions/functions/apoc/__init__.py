"""Pure APOC functions: the most used ones, for arguments whose results a server confirmed.

For null, nested lists and other unconfirmed arguments they raise `UnsupportedQueryError`, so that
the server's own APOC answers.
"""
