"""Pure functions of APOC: those used most, for arguments where a server showed what they give.

For null, nested lists and other arguments that no case covers they raise `UnsupportedQueryError`,
so that the server's own APOC answers.
"""
