"""Configurations of nodes that tests make."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from tensorflow_ignite.testing import node_configuration

BEANS = "{http://www.springframework.org/schema/beans}"


def properties(xml: str, bean: str) -> dict[str, ElementTree.Element]:
    """The properties of a bean of this class."""
    (found,) = (each for each in ElementTree.fromstring(xml).iter(f"{BEANS}bean") if each.get("class") == bean)
    return {each.attrib["name"]: each for each in found.findall(f"{BEANS}property")}


def test_properties_of_the_service_are_numbers_texts_lists_and_maps() -> None:
    # Spring reads the truth in small letters.
    xml = node_configuration(
        sqlFunctions=True,
        storage={"backups": 2},
        security={"tls": "required", "access": ["a<b read *", "c"], "tokens": {'e"t': "1&2"}},
    )
    found = properties(xml, "io.tensorflowignite.TensorFlowService")
    texts = [found[name].findtext(f"{BEANS}value") for name in ("storage.backups", "security.tls", "sqlFunctions")]
    assert texts == ["2", "required", "true"]
    assert [each.text for each in found["security.access"].iter(f"{BEANS}value")] == ["a<b read *", "c"]
    assert [each.attrib for each in found["security.tokens"].iter(f"{BEANS}entry")] == [{"key": 'e"t', "value": "1&2"}]


def test_without_properties_of_the_service_there_is_only_what_the_node_has() -> None:
    xml = node_configuration(node='<property name="consistentId" value="one"/>')
    assert list(properties(xml, "org.apache.ignite.configuration.IgniteConfiguration")) == ["consistentId"]
