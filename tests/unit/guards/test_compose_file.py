"""docker-compose.yaml is valid, and its services are safe by default. `test-compose` runs the services."""

import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
import yaml
from make_env_file import content, write_env_file

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docker-compose.yaml").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load(TEXT)
SERVICES = COMPOSE["services"]
SECRET = re.compile(r"PASSWORD|KEY|SECRET")


def variables(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))


def test_each_variable_has_a_default_or_stops_the_start() -> None:
    used = re.findall(r"\$\{(\w+)(:[-?])?", TEXT)
    assert used
    assert [name for name, rule in used if not rule] == []


def test_no_secret_has_a_default_and_the_new_file_contains_each_secret() -> None:
    required = {name for name, rule in re.findall(r"\$\{(\w+)(:[-?])", TEXT) if rule == ":?"}
    with_default = {name for name, rule in re.findall(r"\$\{(\w+)(:[-?])", TEXT) if rule == ":-"}
    assert required <= variables(content()).keys()
    assert [name for name in with_default if SECRET.search(name)] == []


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_a_pinned_image_and_opens_ports_only_on_this_machine(name: str) -> None:
    service = SERVICES[name]
    image = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", service["image"])
    assert re.search(r":(local|v?\d+\.\d+[\w.-]*)$", image), image
    assert [port for port in service.get("ports", []) if not port.startswith("127.0.0.1:")] == []


@pytest.mark.parametrize("name", [name for name in SERVICES if name not in ("airflow-init", "s3")])
def test_a_service_that_stays_up_has_a_health_check(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"]


def test_the_s3_server_has_the_release_that_the_tests_build() -> None:
    script = (ROOT / "scripts" / "ensure_versitygw.sh").read_text(encoding="utf-8")
    version = re.search(r"^version=(\S+)$", script, re.MULTILINE)
    assert version is not None
    assert SERVICES["s3"]["image"] == f"${{S3_IMAGE:-versity/versitygw:v{version[1]}}}"


def test_git_ignores_the_file_with_the_secrets() -> None:
    assert "/.env" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_all_volumes_are_declared() -> None:
    used = {volume.partition(":")[0] for each in SERVICES.values() for volume in each.get("volumes", [])}
    assert used == COMPOSE["volumes"].keys()


def test_our_images_have_one_dockerfile_each_with_the_same_base() -> None:
    for name in ("airflow", "spark"):
        text = (ROOT / "docker" / f"{name}.Dockerfile").read_text(encoding="utf-8")
        assert "ARG BASE=python:3.11-slim-bookworm\nFROM ${BASE}\n" in text
        assert f"locks/{name}-image.txt" in text


def test_a_new_file_of_settings_is_private_and_random_and_stays(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    assert write_env_file(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first = path.read_text()
    assert not write_env_file(path)
    assert path.read_text() == first
    secrets = [value for name, value in variables(first).items() if SECRET.search(name)]
    assert len(set(secrets)) == len(secrets)
    assert not set(secrets) & set(variables(content()).values())


def test_no_service_depends_on_a_service_whose_profile_may_be_off() -> None:
    for name, service in SERVICES.items():
        for needed in service.get("depends_on", {}):
            missing = set(SERVICES[needed].get("profiles", ())) - set(service.get("profiles", ()))
            assert not missing, f"{name} waits for {needed}"


def compose_command() -> list[str] | None:
    """The program docker-compose, or Compose as a plugin of Docker; None if neither is installed."""
    if program := shutil.which("docker-compose"):
        return [program]
    docker = shutil.which("docker")
    if (
        docker
        and subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode == 0
    ):
        return [docker, "compose"]
    return None


def test_a_service_has_only_keys_of_the_format_and_depends_on_services_of_the_file() -> None:
    keys = {"build", "command", "container_name", "depends_on", "entrypoint", "environment", "healthcheck"}
    keys |= {"hostname", "image", "init", "networks", "ports", "profiles", "restart", "user", "volumes"}
    assert (
        COMPOSE.keys() - {"name", "services", "volumes", "networks"} - {k for k in COMPOSE if k[:2] == "x-"}
        == set()
    )
    for name, service in SERVICES.items():
        assert service.keys() - keys == set(), name
        for needed, how in service.get("depends_on", {}).items():
            assert needed in SERVICES, name
            conditions = {"service_started", "service_completed_successfully"}
            conditions |= {"service_healthy"} if "healthcheck" in SERVICES[needed] else set()
            assert how["condition"] in conditions, f"{name} waits for {needed}"


def test_compose_accepts_the_file(tmp_path: Path) -> None:
    compose = compose_command()
    if compose is None:
        pytest.skip("neither docker-compose nor the plugin `docker compose` is installed.")
    settings = tmp_path / "env"
    write_env_file(settings)
    command = [*compose, "--project-directory", ROOT, "--file", ROOT / "docker-compose.yaml", "--env-file"]
    done = subprocess.run([*command, settings, "config"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(done.stdout)["services"].keys() == SERVICES.keys()
    (tmp_path / "empty").touch()
    refused = subprocess.run(
        [*command, tmp_path / "empty", "config"], capture_output=True, text=True, check=False
    )
    assert "Run make compose-up, which writes .env" in refused.stderr
