"""A node with TLS, authentication and permissions: what each caller may do, and the error that others get.

    python secured_node.py               # starts a node of its own on this machine; needs the program openssl

Prints what each caller gets. Nothing is left when it ends.
"""

import hashlib
import secrets
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import tensorflow_ignite as tfi
from tensorflow_ignite import errors
from tensorflow_ignite.testing import LocalCluster

# `tensorflow-ignite token NAME` makes a token and prints what the node must know of it, by which nobody can call.
TOKENS = {name: secrets.token_urlsafe(32) for name in ("etl", "analyst")}

CONFIGURATION = """<?xml version="1.0" encoding="UTF-8"?>
<beans xmlns="http://www.springframework.org/schema/beans" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
       xsi:schemaLocation="http://www.springframework.org/schema/beans
                           http://www.springframework.org/schema/beans/spring-beans.xsd">
  <bean class="org.apache.ignite.configuration.IgniteConfiguration">
    <!-- Nodes accept each other by certificates, and Ignite's own ports, which know no rules, are closed. -->
    <property name="sslContextFactory"><bean class="io.tensorflowignite.NodeSslContextFactory"/></property>
    <property name="clientConnectorConfiguration"><null/></property>
    <property name="connectorConfiguration"><null/></property>
    <property name="serviceConfiguration">
      <bean class="org.apache.ignite.services.ServiceConfiguration">
        <property name="name" value="tensorflow-ignite"/>
        <property name="maxPerNodeCount" value="1"/>
        <property name="service">
          <bean class="io.tensorflowignite.TensorFlowService">
            <property name="security.tls" value="required"/>
            <property name="security.tokens">
              <map>
                <entry key="etl" value="{etl}"/>
                <entry key="analyst" value="{analyst}"/>
              </map>
            </property>
            <property name="security.access">
              <list>
                <value>etl read,write raw_*</value>
                <value>etl files /reports/*</value>
                <value>analyst read raw_trips</value>
                <value>analyst files-read /reports/*</value>
                <value>* watch</value>
              </list>
            </property>
          </bean>
        </property>
      </bean>
    </property>
  </bean>
</beans>
"""


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate that is good for 127.0.0.1 and signs itself, and its key; a real one comes from an authority."""
    certificate, key = folder / "node.pem", folder / "node-key.pem"
    made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", certificate]
    named = ["-subj", "/CN=node", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run(["openssl", "req", "-x509", *made, *named], check=True, capture_output=True)
    return certificate, key


def attempt(who: str, what: str, call: Callable[[], object]) -> None:
    """Prints what a call returns, or the name of its error; the error's text names the rule and the remedy."""
    try:
        result = call()
    except errors.TensorFlowIgniteError as error:
        result = type(error).__name__
    print(f"{who}: {what}: {result}")


def main() -> None:
    """Starts the node, and calls it as several people."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        certificate, key = make_certificate(folder)
        configuration = folder / "node.xml"
        digests = {who: hashlib.sha256(token.encode()).hexdigest() for who, token in TOKENS.items()}
        configuration.write_text(CONFIGURATION.format(**digests))
        environment = {
            "TENSORFLOW_IGNITE_TLS_CERTIFICATE": str(certificate),
            "TENSORFLOW_IGNITE_TLS_KEY": str(key),
            "TENSORFLOW_IGNITE_TLS_CA": str(certificate),
        }
        etl, analyst = (tfi.Credentials(token=TOKENS[who], cafile=str(certificate)) for who in ("etl", "analyst"))
        with LocalCluster(1, config=configuration, environment=environment, credentials=etl) as cluster:
            call_as_everybody(cluster.address, etl, analyst, str(certificate))


def call_as_everybody(address: str, etl: tfi.Credentials, analyst: tfi.Credentials, cafile: str) -> None:
    """Makes each call with the credentials of several users, also without permission."""
    trips = {"fare": np.arange(100) / 4}
    url = f"ignite://{address}/reports/fares.csv"

    def load(cache: str, who: tfi.Credentials) -> int:
        return tfi.load(cache, trips, address=address, credentials=who)

    def read(who: tfi.Credentials) -> str:
        table = tfi.read_table("raw_trips", options=tfi.ReadOptions(address=address, credentials=who))
        return f"{table.num_rows} rows"

    def write(who: tfi.Credentials) -> str:
        pd.DataFrame(trips).to_csv(url, index=False, storage_options={"credentials": who})
        return "written"

    def mean(who: tfi.Credentials) -> float:
        return float(pd.read_csv(url, storage_options={"credentials": who})["fare"].mean())

    attempt("etl", "load raw_trips", lambda: load("raw_trips", etl))
    attempt("etl", "load models", lambda: load("models", etl))
    attempt("etl", "write a report", lambda: write(etl))
    attempt("analyst", "read raw_trips", lambda: read(analyst))
    attempt("analyst", "load raw_trips", lambda: load("raw_trips", analyst))
    attempt("analyst", "read the report, mean fare", lambda: mean(analyst))
    attempt("analyst", "write a report", lambda: write(analyst))
    attempt("somebody", "read raw_trips with a token that nobody has", lambda: read(guess(cafile)))
    attempt("somebody", "read raw_trips without a token", lambda: read(tfi.Credentials(cafile=cafile)))
    attempt("somebody", "read raw_trips without TLS", lambda: read(tfi.Credentials()))


def guess(cafile: str) -> tfi.Credentials:
    """A token of the right form."""
    return tfi.Credentials(token=secrets.token_urlsafe(32), cafile=cafile)


if __name__ == "__main__":
    main()
