"""Fit data collected elsewhere: d′, criteria, type-2 area and meta-d′ of any table of counts or trials (`metacog fit`).

Start with ``fits.fit_file``. ``tables`` reads files and never fits.
Nothing here knows a benchmark or a study.
"""
