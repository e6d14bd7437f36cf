"""Tables, figures and HTML reports."""
