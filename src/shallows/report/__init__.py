"""Tables, figures and the HTML page, from results alone: nothing here trains or knows a solver."""
