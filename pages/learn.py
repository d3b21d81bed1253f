"""x"""
from sslsop_ui.frame import open_page
open_page("x")
