"""The manifests of deploy: they are what the chart renders, and all that they name exists."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from tensorflow_ignite.cli.app import app
from tensorflow_ignite.node import host

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "deploy"))

import render  # noqa: E402

BEANS = "{http://www.springframework.org/schema/beans}"
#: After the tasks, a node changes its row, leaves jobs, and ends: OrderlyStop.java, and the time for the end of tasks.
LEAVE_SECONDS = 5 + 3 + 2

needs_helm = pytest.mark.skipif(shutil.which("helm") is None, reason="helm is not installed")


def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(render.MANIFESTS.read_text()))


def only(kind: str, name: str = "tensorflow-ignite") -> dict[str, Any]:
    """The manifest of a kind and a name."""
    (found,) = (each for each in manifests() if (each["kind"], each["metadata"]["name"]) == (kind, name))
    return found


def pod() -> dict[str, Any]:
    """What each pod is made from."""
    return dict(only("StatefulSet")["spec"]["template"]["spec"])


def container() -> dict[str, Any]:
    """The only container of a pod."""
    (found,) = pod()["containers"]
    return dict(found)


def environment() -> dict[str, str]:
    """The variables of the first pod, expanded as Kubernetes does."""
    fields = {"metadata.name": "tensorflow-ignite-0", "metadata.namespace": "default"}
    found: dict[str, str] = {}
    for each in container()["env"]:
        value = each["value"] if "value" in each else fields[each["valueFrom"]["fieldRef"]["fieldPath"]]
        found[each["name"]] = expanded(value, found)
    return found


def expanded(text: str, variables: dict[str, str]) -> str:
    return re.sub(r"\$\((\w+)\)", lambda found: variables[found[1]], text)


def drain_command() -> list[str]:
    """The command before a pod ends, as the shell understands it."""
    shell, option, script = container()["lifecycle"]["preStop"]["exec"]["command"]
    assert (shell, option) == ("sh", "-c")
    script = re.sub(r"\$(\w+)", lambda found: environment()[found[1]], script)
    assert script.startswith("exec ")
    return shlex.split(script)[1:]


def parsed(command: list[str], files: Path) -> tuple[str, dict[str, Any]]:
    """The subcommand and its options, by the parser of the command line; files that are named exist meanwhile."""
    program, *arguments = command
    assert program == "tensorflow-ignite"
    (files / "file").write_text("text")
    arguments = [str(files / "file") if each.startswith("/etc/") else each for each in arguments]
    group: Any = typer.main.get_command(app)
    outer = group.make_context(program, arguments)
    name, found, rest = group.resolve_command(outer, [*outer._protected_args, *outer.args])
    return name, found.make_context(name, rest, parent=outer).params


def references(node: Any, key: str) -> list[Any]:
    """The values of a key, at any depth."""
    if isinstance(node, dict):
        return [
            *([node[key]] if key in node else []),
            *(each for one in node.values() for each in references(one, key)),
        ]
    return [each for one in node for each in references(one, key)] if isinstance(node, list) else []


@needs_helm
def test_the_plain_manifests_are_what_the_chart_renders() -> None:
    assert render.render() == render.MANIFESTS.read_text(), "run: python deploy/render.py"


@needs_helm
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("replicas=many", "at '/replicas': got string, want integer"),
        ("security.enabled=perhaps", "at '/security/enabled': got string, want boolean"),
        ("memory.rows=2Gi", "at '/memory/rows': got string, want integer"),
        ("replica=3", "additional properties 'replica' not allowed"),
        ("replicas=null", "replicas"),
        ("memory=null", "memory"),
        ("security.access=null", "access"),
        ("workSize=500K", "at '/workSize': '500K' does not match pattern"),
        ("service.jobs.maxTasks=8", "invalid propertyName 'jobs'"),
        # Spring refuses a property that is there twice.
        ("service.storage\\.backups=2", "invalid propertyName 'storage.backups'"),
    ],
)
def test_a_value_of_another_type_is_one_message(option: str, message: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        render.render("--set", option)
    lines = [line for line in refused.value.stderr.splitlines() if line.startswith("- at ")]
    assert len(lines) == 1
    assert message in lines[0]


@needs_helm
def test_large_numbers_of_a_file_stay_whole_numbers(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text(
        "user: 1000680000\nmemory: {heap: 2000000}\nenvironment: {BYTES: 10000000, FLAG: true, RATE: 0.5}\n"
    )
    rendered = yaml.safe_load_all(render.render("--values", str(tmp_path / "values.yaml")))
    (made,) = (each for each in rendered if each["kind"] == "StatefulSet")
    spec = made["spec"]["template"]["spec"]
    numbers = [spec["securityContext"][name] for name in ("runAsUser", "runAsGroup", "fsGroup")]
    assert numbers == [1000680000] * 3
    assert all(isinstance(number, int) for number in numbers)
    assert "--jvm-arg=-Xmx2000000m" in spec["containers"][0]["args"]
    variables = {each["name"]: each.get("value") for each in spec["containers"][0]["env"]}
    assert (variables["BYTES"], variables["FLAG"], variables["RATE"]) == ("10000000", "true", "0.5")


@needs_helm
@pytest.mark.parametrize(
    ("access", "rules"),
    [('["alice submit"]', ["operator watch,stop", "operator predict *", "alice submit"]), ("[]", [])],
)
def test_rules_of_a_user_leave_a_pod_those_that_drain_its_node(access: str, rules: list[str]) -> None:
    rendered = yaml.safe_load_all(render.render("--set-json", f"security.access={access}"))
    (made,) = (each for each in rendered if each["kind"] == "ConfigMap")
    assert re.findall("<value>(operator.*|alice.*)</value>", made["data"]["node.xml"]) == rules


@needs_helm
def test_a_cluster_on_disk_without_security_has_claims_and_no_secrets(tmp_path: Path) -> None:
    text = render.render("--set", "persistence.enabled=true,security.enabled=false")
    (made,) = (each for each in yaml.safe_load_all(text) if each["kind"] == "StatefulSet")
    (claim,) = made["spec"]["volumeClaimTemplates"]
    assert claim["metadata"]["name"] == "work"
    assert "work" not in [volume["name"] for volume in made["spec"]["template"]["spec"]["volumes"]]
    assert not references(made, "secretName")
    (node,) = made["spec"]["template"]["spec"]["containers"]
    arguments = [each.replace("$(IGNITE_REPLICAS)", "3") for each in node["args"]]
    name, options = parsed([*node["command"][2:], *arguments], tmp_path)
    assert (name, options["activate_at"]) == ("node", 3)
    assert {probe["scheme"] for probe in references(node, "httpGet")} == {"HTTP"}
    kubernetes_valid(text)


@needs_helm
@pytest.mark.parametrize(("options", "seconds"), [("persistence.enabled=true", 86_400 + 600), ("replicas=3", 600)])
def test_a_pod_may_take_longer_than_any_recovery_before_its_first_sign_of_life(options: str, seconds: int) -> None:
    # The HTTP port opens only after Ignite has restored what is on disk, and a restart would begin that again.
    rendered = yaml.safe_load_all(render.render("--set", options))
    (made,) = (each for each in rendered if each["kind"] == "StatefulSet")
    probe = made["spec"]["template"]["spec"]["containers"][0]["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] == seconds


@needs_helm
def test_another_number_of_pods_on_disk_restarts_none() -> None:
    # Kubernetes would restart one beside the pod that it takes away, and both may have all copies of a partition.
    templates = []
    for replicas in ("3", "4"):
        made = {
            each["kind"]: each
            for each in yaml.safe_load_all(render.render("--set", f"persistence.enabled=true,replicas={replicas}"))
        }
        template = made["StatefulSet"]["spec"]["template"]
        (variable,) = (each for each in template["spec"]["containers"][0]["env"] if each["name"] == "IGNITE_REPLICAS")
        key = variable["valueFrom"]["configMapKeyRef"]
        assert (key["name"], made["ConfigMap"]["data"][key["key"]]) == ("tensorflow-ignite", replicas)
        templates.append(template)
    assert templates[0] == templates[1]


@needs_helm
def test_properties_of_the_service_are_values() -> None:
    service = {"jobs.maxTasks": 10_000, "jobs.taskQuotas": {"alice": 2}, "rows.readRate": "200MB", "sqlFunctions": True}
    text = render.render("--set", "memory.batches=1024", "--set-json", f"service={json.dumps(service)}")
    (made,) = (each for each in yaml.safe_load_all(text) if each["kind"] == "ConfigMap")
    properties = {
        each.get("name"): each for each in ElementTree.fromstring(made["data"]["node.xml"]).iter(f"{BEANS}property")
    }
    for name, value in {**service, "rows.batchMemoryMegabytes": 1024}.items():
        if isinstance(value, dict):
            entries = properties[name].iter(f"{BEANS}entry")
            assert {each.get("key"): each.get("value") for each in entries} == {"alice": "2"}
        else:
            assert properties[name].get("value") == str(value).replace("True", "true")


def kubernetes_valid(text: str) -> None:
    """Checks manifests against the schemas of Kubernetes, where these are installed."""
    validate = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate, 108 MB of schemas")
    for each in yaml.safe_load_all(text):
        validate.validate(each, validate.latest_version(), strict=True)


def test_the_manifests_are_valid() -> None:
    kubernetes_valid(render.MANIFESTS.read_text())


def test_the_schema_knows_each_value_of_the_chart() -> None:
    def check(values: Any, schema: Any) -> None:
        if isinstance(values, dict) and "properties" in schema:
            assert set(values) <= set(schema["properties"])
            for name, value in values.items():
                check(value, schema["properties"][name])

    schema = json.loads((render.CHART / "values.schema.json").read_text())
    values = yaml.safe_load((render.CHART / "values.yaml").read_text())
    check(values, schema)
    assert set(schema["properties"]) == {*values, "global"}


def test_the_commands_of_a_pod_are_commands_of_the_program(tmp_path: Path) -> None:
    command = container()["command"]
    assert command[:2] == ["tini", "--"]
    arguments = [expanded(each, environment()) for each in container()["args"]]
    name, options = parsed([*command[2:], *arguments], tmp_path)
    assert (name, options["name"], options["host"]) == (
        "node",
        "tensorflow-ignite-0",
        "tensorflow-ignite-0.tensorflow-ignite-nodes.default.svc.cluster.local",
    )
    name, options = parsed(drain_command(), tmp_path)
    api = f"{environment()['TENSORFLOW_IGNITE_HOST']}:{environment()['TENSORFLOW_IGNITE_PORT']}"
    assert (name, options["node"], options["address"]) == ("drain", api, api)
    grace = float(configured("timeouts.stopGraceSeconds"))
    assert pod()["terminationGracePeriodSeconds"] >= (
        options["wait"] + grace + LEAVE_SECONDS + host.STOP_TIMEOUT + host.EXIT_TIMEOUT
    )


def configured(name: str) -> str:
    """The value of a property in the configuration of the nodes."""
    xml = ElementTree.fromstring(only("ConfigMap")["data"]["node.xml"])
    (found,) = (each for each in xml.iter(f"{BEANS}property") if each.get("name") == name)
    return found.attrib["value"]


def test_each_name_that_a_manifest_refers_to_exists() -> None:
    ports = {each["name"] for each in container()["ports"]}
    for service in (each for each in manifests() if each["kind"] == "Service"):
        assert {each["targetPort"] for each in service["spec"]["ports"]} <= ports
    named = {each["port"] for rule in only("NetworkPolicy")["spec"]["ingress"] for each in rule.get("ports", ())}
    assert named <= ports
    labels = only("StatefulSet")["spec"]["template"]["metadata"]["labels"].items()
    selectors = [each["spec"]["selector"] for each in manifests() if "selector" in each.get("spec", ())]
    assert len(selectors) == 4
    assert all(selector.get("matchLabels", selector).items() <= labels for selector in selectors)
    service = only("Service", only("StatefulSet")["spec"]["serviceName"])["spec"]
    assert service["clusterIP"] == "None"
    assert service["publishNotReadyAddresses"] is True
    assert environment()["IGNITE_SERVICE"].split(".")[0] == only("StatefulSet")["spec"]["serviceName"]
    volumes = {each["name"]: each for each in pod()["volumes"]}
    mounted = {each["name"]: each["mountPath"] for each in container()["volumeMounts"]}
    assert set(volumes) == set(mounted)
    assert volumes["configuration"]["configMap"]["name"] == only("ConfigMap")["metadata"]["name"]
    text = json.dumps(container()) + only("ConfigMap")["data"]["node.xml"]
    for path in re.findall(r"/etc/tensorflow-ignite/[\w./-]+", text):
        assert any(path == folder or path.startswith(f"{folder}/") for folder in mounted.values()), path
    page = (ROOT / "docs/kubernetes.md").read_text()
    for secret in references(pod(), "secretName"):
        assert re.search(rf"kubectl create secret \w+ {secret} ", page), f"{secret} is made nowhere"


def test_a_pod_has_no_privileges() -> None:
    assert pod()["securityContext"]["runAsNonRoot"] is True
    assert pod()["automountServiceAccountToken"] is False
    own = container()["securityContext"]
    assert (own["allowPrivilegeEscalation"], own["readOnlyRootFilesystem"]) == (False, True)
    assert own["capabilities"] == {"drop": ["ALL"]}
