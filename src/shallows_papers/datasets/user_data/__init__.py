"""A user's own file: the request for it, the description of what is in it, and its rows.

The module `request` is light and serves the plan; `describe` reads the file once and says what it guessed;
`file_forms` gives its rows to the preparation, as the description says.
"""
