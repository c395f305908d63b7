"""The plugin jar in a Maven repository: a project of a user compiles with it, and the Spring Boot example runs."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from thin_client import thin_port

import tensorflow_ignite as tfi
from tensorflow_ignite.testing import LocalCluster
from tensorflow_ignite.testing.patience import patiently

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
SECONDS = patiently(480)
ROWS = 1000
# A user of the plugin jar, who has Ignite.
USER_BUILD = """
apply plugin: 'java'
repositories { maven { url 'REPOSITORY' }; mavenCentral() }
dependencies {
  implementation 'io.tensorflowignite:tensorflow-ignite:VERSION'
  implementation 'org.apache.ignite:ignite-core:IGNITE'
}
"""
USER_CLASS = """
import io.tensorflowignite.TensorFlowService;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.services.ServiceConfiguration;

class User {
  static IgniteConfiguration node() {
    ServiceConfiguration service = new ServiceConfiguration();
    service.setName(TensorFlowService.NAME);
    service.setMaxPerNodeCount(1);
    TensorFlowService bean = new TensorFlowService();
    bean.getStorage().setBackups(2);
    service.setService(bean);
    return new IgniteConfiguration().setServiceConfiguration(service);
  }
}
"""


def gradle(folder: Path, *arguments: str) -> None:
    command = ["gradle", "--no-daemon", "-q", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def repository() -> Path:
    gradle(ROOT, "mavenRepository")
    return ROOT / "build/maven"


def version() -> str:
    found = re.search(r'(?m)^version = "(.+)"$', (ROOT / "pyproject.toml").read_text())
    assert found is not None
    return found[1]


def ignite_version() -> str:
    found = re.search(r"ignite: '(.+)'", (ROOT / "gradle/versions.gradle").read_text())
    assert found is not None
    return found[1]


def test_the_repository_has_what_maven_wants(repository: Path) -> None:
    folder = repository / "io/tensorflowignite/tensorflow-ignite" / version()
    name = f"tensorflow-ignite-{version()}"
    kinds = (".jar", ".pom", "-api.jar", "-javadoc.jar", "-sources.jar")
    files = {path.name for path in folder.iterdir()}
    assert files == {f"{name}{kind}{sum}" for kind in kinds for sum in ("", ".md5", ".sha1")}
    for kind in kinds:
        content = (folder / f"{name}{kind}").read_bytes()
        assert (folder / f"{name}{kind}.sha1").read_text().strip() == hashlib.sha1(content).hexdigest()
        assert (folder / f"{name}{kind}.md5").read_text().strip() == hashlib.md5(content).hexdigest()
    pom = ElementTree.parse(folder / f"{name}.pom").getroot()
    space = {"m": "http://maven.apache.org/POM/4.0.0"}
    assert pom.findtext("m:licenses/m:license/m:name", namespaces=space) == "Apache-2.0"
    scopes = {
        dependency.findtext("m:artifactId", namespaces=space): dependency.findtext("m:scope", namespaces=space)
        for dependency in pom.findall("m:dependencies/m:dependency", space)
    }
    assert scopes == dict.fromkeys(["ignite-core", "ignite-indexing", "ignite-spring"], "provided")
    with zipfile.ZipFile(folder / f"{name}-sources.jar") as sources:
        assert "io/tensorflowignite/TensorFlowJobs.java" in sources.namelist()
        assert "io/tensorflowignite/v1/Job.java" in sources.namelist()
    with zipfile.ZipFile(folder / f"{name}-javadoc.jar") as javadoc:
        assert "io/tensorflowignite/TensorFlowJobs.html" in javadoc.namelist()
    with zipfile.ZipFile(folder / f"{name}-api.jar") as interfaces:
        classes = {name for name in interfaces.namelist() if name.endswith(".class")}
    assert classes == {f"io/tensorflowignite/TensorFlow{each}.class" for each in ("Jobs", "Models")}


def test_a_project_compiles_with_the_jar_of_the_repository(repository: Path, tmp_path: Path) -> None:
    build = USER_BUILD.replace("REPOSITORY", str(repository)).replace("IGNITE", ignite_version())
    (tmp_path / "build.gradle").write_text(build.replace("VERSION", version()))
    (tmp_path / "settings.gradle").write_text("")
    source = tmp_path / "src/main/java/User.java"
    source.parent.mkdir(parents=True)
    source.write_text(USER_CLASS)
    gradle(tmp_path, "compileJava")
    assert list(tmp_path.rglob("User.class"))


@pytest.fixture(scope="module")
def node() -> Iterator[LocalCluster]:
    with LocalCluster(nodes=1) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def application(repository: Path, node: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the example's application beside the node."""
    folder = tmp_path_factory.mktemp("spring") / "spring-boot"
    shutil.copytree(ROOT / "examples/spring-boot", folder)
    gradle(folder, "installDist", f"-PtensorflowIgnite={repository}")
    # The script becomes the JVM.
    program = folder / "build/install/spring-boot/bin/spring-boot"
    thin = f"127.0.0.1:{thin_port(node.nodes[0].pid)}"
    process = subprocess.Popen(
        [program, "--server.port=0", f"--ignite.addresses={thin}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    end = threading.Timer(SECONDS, process.kill)
    end.start()
    lines = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if found := re.search(r"Tomcat started on port (\d+)", line):
                # The rest is read, so that the process does not wait for its reader.
                threading.Thread(target=process.stdout.read, daemon=True).start()
                yield f"http://127.0.0.1:{found[1]}"
                break
        else:
            pytest.fail("".join(lines[-40:]))
    finally:
        end.cancel()
        process.terminate()
        process.wait()


def call(method: str, url: str, body: Any = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_a_spring_boot_application_trains_follows_stops_and_asks_for_predictions(
    application: str, node: LocalCluster
) -> None:
    tfi.load("spring", {"x": np.arange(ROWS)}, address=node.address)
    path = f"{application}/trainings?cache=spring&epochs=2&request=once"
    status, submitted = call("POST", path)
    assert status == 200, submitted
    assert call("POST", path) == (200, submitted)
    text, position, complete = "", "", False
    while not complete:
        status, part = call("GET", f"{application}/trainings/{submitted['id']}/output?position={position}")
        assert status == 200, part
        text, position, complete = text + part["text"], part["position"], part["complete"]
    assert text == f"epoch 0: {ROWS} rows\nepoch 1: {ROWS} rows\n"
    status, job = call("GET", f"{application}/trainings/{submitted['id']}")
    assert (status, job["state"], job["spec"]["cache"]) == (200, "succeeded", "spring")
    status, refused = call("DELETE", f"{application}/trainings/{submitted['id']}")
    assert status == 400
    assert "[code=JOB_FINISHED]" in refused["error"]
    status, refused = call("POST", f"{application}/predictions/none", {"x": [[1, 2]]})
    assert status == 400
    assert "The model none is not deployed" in refused["error"]


def test_a_spring_boot_application_without_a_node_says_that_it_is_not_available(
    application: str, node: LocalCluster
) -> None:
    node.stop_node(node.nodes[0])
    assert call("GET", f"{application}/trainings/none")[0] == 503
