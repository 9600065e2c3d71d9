"""A page of HTML in one file: texts, tables and pictures, the last as data in the page.

Means: it can be sent by mail and opened anywhere; nothing is loaded from elsewhere. Texts are
  escaped, since names of vertices can be anything.
"""

import base64
import html

STYLE = """
:root { color-scheme: light }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff;
       max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.7rem; margin-bottom: 0 } h2 { font-size: 1.2rem; margin-top: 2.5rem }
.under { color: #666; margin-top: 0 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem }
th, td { padding: 0.25rem 0.8rem; border-bottom: 1px solid #ddd; text-align: left;
         vertical-align: top; overflow-wrap: anywhere }
th { border-bottom: 2px solid #888; white-space: nowrap } .number { text-align: right }
tr.chosen td { background: #fff3c4; font-weight: 600 }
dt { font-weight: 600; margin-top: 0.6rem } dd { margin-left: 1.5rem }
img { max-width: 100%; height: auto } .wide { overflow-x: auto }
"""


def page(title, under, *parts):
    """A whole page of a title, a line under it, and what the functions below give."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{html.escape(title)}</h1>\n<p class="under">{html.escape(under)}</p>\n'
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def section(title, *parts):
    """A heading and what follows."""
    return "\n".join([f"<h2>{html.escape(title)}</h2>", *parts])


def text(words):
    """A paragraph."""
    return f"<p>{html.escape(words)}</p>"


def terms(meanings):
    """Terms and what each means: {term: meaning}."""
    rows = (
        f"<dt>{html.escape(term)}</dt><dd>{html.escape(meaning)}</dd>"
        for term, meaning in meanings.items()
    )
    return f"<dl>{''.join(rows)}</dl>"


def table(names, rows, chosen=None):
    """Rows under the names of their columns; numbers to the right, the row `chosen` marked."""
    rows = [list(row) for row in rows]
    is_number = [
        bool(rows) and all(_is_number(row[place]) for row in rows) for place in range(len(names))
    ]
    lines = [_row("th", names, is_number)]
    lines += [
        _row("td", row, is_number, ' class="chosen"' if place == chosen else "")
        for place, row in enumerate(rows)
    ]
    return '<div class="wide"><table>\n' + "\n".join(lines) + "\n</table></div>"


def picture(path, what):
    """A PNG file; `what` says what it shows to whom the page is read out."""
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<p><img alt="{html.escape(what)}" src="data:image/png;base64,{data}"></p>'


def _row(cell, values, is_number, kind=""):
    cells = (
        f"<{cell}{' class=number' if right else ''}>{html.escape(_written(value))}</{cell}>"
        for value, right in zip(values, is_number)
    )
    return f"<tr{kind}>{''.join(cells)}</tr>"


def _is_number(value):
    return not isinstance(value, (str, bool)) and hasattr(value, "__float__")


def _written(value):
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if _is_number(value) else str(value)
