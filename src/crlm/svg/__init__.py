"""Drawings as text, without matplotlib: for the report and for notebooks.

Colours are attributes, which any style sheet overrides: alone a drawing looks right on white,
and in a page it follows the page's theme.
"""
