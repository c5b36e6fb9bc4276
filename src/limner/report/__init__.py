"""Reports: tables in every format, the papers' own tables, plots, the site, and whole papers reproduced."""
