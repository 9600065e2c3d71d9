"""Sphinx extension: links of Markdown to files of the repository that are not pages of the site.

A page links to a file as GitHub expects it, by its path relative to the page. On the site, a file
outside `docs/` is a page if another page includes it, and otherwise a URL of the repository.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
URL = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Homepage"]
LINK = re.compile(r"(!\[[^\]]*)?(\]\()([^)\s:#]+)(#[^)\s]*)?(?=\))")  # an image begins with !
# Files of the repository -> pages that include them.
PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "rapidsgraph/README.md": "architecture.md",
}


def resolve_links(text: str, folder: Path, page: Path) -> str:
    """Return Markdown that was written for a file in `folder`, with links as `page` needs them."""

    def resolve(match: re.Match) -> str:
        image, opening, target, fragment = match[1], match[2], match[3], match[4] or ""
        path = Path(os.path.normpath(folder / target))
        if not path.exists() or not path.is_relative_to(ROOT):
            return match[0]
        if image:  # Sphinx copies it, also from outside `docs/`
            return f"{image}{opening}{os.path.relpath(path, page.parent)}"
        name = path.relative_to(ROOT).as_posix()
        if name in PAGES and (DOCS / PAGES[name]).exists():
            path = DOCS / PAGES[name]
        if path.is_file() and path.is_relative_to(DOCS):
            return f"{opening}{os.path.relpath(path, page.parent)}{fragment}"
        return f"{opening}{URL}/{'tree' if path.is_dir() else 'blob'}/main/{name}{fragment}"

    return LINK.sub(resolve, text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Rewrite the links of pages, and of files that pages include."""

    def read_page(app: Sphinx, docname: str, source: list[str]) -> None:
        page = Path(app.env.doc2path(docname))
        if page.suffix == ".md":
            source[0] = resolve_links(source[0], page.parent, page)

    def read_included(app: Sphinx, path: Path, parent: str, source: list[str]) -> None:
        included, page = DOCS / path, Path(app.env.doc2path(app.env.docname))
        if included.suffix == ".md":
            source[0] = resolve_links(source[0], included.parent, page)

    app.connect("source-read", read_page)
    app.connect("include-read", read_included)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
