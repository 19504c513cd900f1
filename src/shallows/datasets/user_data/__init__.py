"""A user's own file: the request for it, the description of what is in it, and its rows.

`shallows.datasets.user_data.request` is light and serves the plan; `shallows.datasets.user_data.describe` reads the
file once and says what it guessed; `shallows.datasets.user_data.file_forms` gives its rows to the preparation, as the
description says.
"""
