"""Configurations of nodes, for tests that need more than the default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

_BEANS = """<?xml version="1.0" encoding="UTF-8"?>
<beans xmlns="http://www.springframework.org/schema/beans" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
       xsi:schemaLocation="http://www.springframework.org/schema/beans
                           http://www.springframework.org/schema/beans/spring-beans.xsd">
  <bean class="org.apache.ignite.configuration.IgniteConfiguration">
    {properties}
  </bean>
</beans>
"""

_SERVICE = """<property name="serviceConfiguration">
      <bean class="org.apache.ignite.services.ServiceConfiguration">
        <property name="name" value="tensorflow-ignite"/>
        <property name="maxPerNodeCount" value="1"/>
        <property name="service">
          <bean class="io.tensorflowignite.TensorFlowService">{properties}</bean>
        </property>
      </bean>
    </property>"""

Property = bool | int | float | str | Sequence[str] | Mapping[str, str]


def node_configuration(*, node: str = "", **service: bool | Mapping[str, Property]) -> str:
    """A Spring XML file for the nodes of a :class:`LocalCluster`, which adds what they need to find each other.

    Args:
        node: XML of further properties of IgniteConfiguration, such as ``cacheConfiguration``.
        service: Properties of the bean TensorFlowService in their groups, such as ``storage={"backups": 2}``. Without
            any the node has the service as it is by default.

    Returns:
        The text of the file.
    """
    named: dict[str, Property] = {}
    for group, content in service.items():
        if isinstance(content, Mapping):
            named.update({f"{group}.{name}": value for name, value in content.items()})
        else:
            named[group] = content
    beans = "".join(f"<property name={quoteattr(name)}>{_value(value)}</property>" for name, value in named.items())
    properties = (_SERVICE.format(properties=beans) if service else "") + node
    return _BEANS.format(properties=properties)


def _value(value: Property) -> str:
    if isinstance(value, Mapping):
        entries = (f"<entry key={quoteattr(key)} value={quoteattr(each)}/>" for key, each in value.items())
        return f"<map>{''.join(entries)}</map>"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"<list>{''.join(f'<value>{escape(each)}</value>' for each in value)}</list>"
    return f"<value>{escape(str(value).lower() if isinstance(value, bool) else str(value))}</value>"
