"""Hooks of mkdocs: docs/ is written for the repository, and the site adapts it."""

import re
from pathlib import Path

from mkdocs.structure.files import File

root = Path(__file__).parents[2]
link = re.compile(r"\]\((?![a-z]+:|#|/)([^)#\s]+)(#[^)\s]*)?\)")
# The word after the language says how the tests of the documentation use the block.
fence = re.compile(r"^([ ]*```\w+) .*$", re.MULTILINE)


def on_files(files, config):
    """Adds the README as the first page, and the folders of contract and decisions to the navigation."""
    text = (root / "README.md").read_text()
    files.append(File.generated(config, "index.md", content=re.sub(r"\]\(docs/", "](", text)))
    return files


def on_config(config):
    for section in config["nav"]:
        for pages in section.values():
            for page in pages:
                for name, path in page.items():
                    if path.endswith("/"):
                        names = sorted(file.name for file in (root / "docs" / path).glob("*.md") if file.name != "README.md")
                        page[name] = [f"{path}README.md", *(path + file for file in names)]
    return config


def on_page_markdown(markdown, page, config, files):
    """Links to what is no page lead to the repository."""
    docs = root / "docs"

    def outside(match):
        target = (docs / page.file.src_uri).parent.joinpath(match[1]).resolve()
        if target.is_file() and target.is_relative_to(docs):
            return match[0]
        path = target.relative_to(docs if page.file.src_uri == "index.md" and not target.exists() else root)
        return f"]({config['repo_url']}/blob/main/{path}{match[2] or ''})"

    return fence.sub(r"\1", link.sub(outside, markdown))
