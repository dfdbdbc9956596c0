"""What tests of a page look at: its elements by a strict parser, and what it refers to."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"
#: What makes a browser ask for something: elements, attributes and words of CSS.
ASKING = {
    "script",
    "link",
    "img",
    "iframe",
    "object",
    "embed",
    "audio",
    "video",
    "source",
    "use",
    "image",
    "base",
    "form",
}
LINKS = {"src", "href", "action", "data", "srcset", "poster", "background", "formaction", "ping"}


def parse(html: str) -> ET.Element:
    """The page by a parser of XML, which refuses what is not closed, not escaped or not a character."""
    head = "<!doctype html>"
    assert html.startswith(head)
    return ET.fromstring(html[len(head) :])


def check_page(html: str) -> ET.Element:
    """Parse strictly, and assert that nothing is asked for and every drawing has places that are numbers."""
    root = parse(html)
    html.encode("utf-8")
    for element in root.iter():
        name = element.tag.rpartition("}")[2].lower()
        assert name not in ASKING, name
        for key, value in element.attrib.items():
            plain = key.rpartition("}")[2].lower()
            assert plain not in LINKS, (name, key)
            assert not plain.startswith("on"), (name, key)
            if element.tag.startswith(SVG) and plain in {"d", "x", "y", "cx", "cy", "width", "height", "viewBox", "x1"}:
                assert not re.search(r"nan|inf", value, re.IGNORECASE), (name, key, value[:80])
    for style in [element.text or "" for element in root.iter("style")]:
        assert "@import" not in style
        assert "url(" not in style
        assert "@font-face" not in style
    return root


def drawings(root: ET.Element) -> dict[str, ET.Element]:
    """Drawing of each card, by the card's id."""
    found = {}
    for section in root.iter("section"):
        for drawing in section.iter(f"{SVG}svg"):
            found[section.attrib["id"]] = drawing
    return found


def text_of(root: ET.Element, card: str) -> str:
    """All text of a card."""
    (section,) = [section for section in root.iter("section") if section.attrib.get("id") == card]
    return " ".join(" ".join(section.itertext()).split())
