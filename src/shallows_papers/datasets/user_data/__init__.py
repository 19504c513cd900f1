"""Users' own files: the request, the description of the file, and its rows.

The module `request` needs few imports, because every plan uses it. `describe` reads the file once and reports what it
guessed. `file_forms` reads the rows for the preparation according to the description.
"""
