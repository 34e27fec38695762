"""docker/: the dashboard reads metrics that exist, compose sets known flags."""

import json
import re
from pathlib import Path

import yaml
from script_runs import run

ROOT = Path(__file__).parent.parent.parent
DOCKER = ROOT / "docker"


def test_the_dashboard_reads_metrics_that_exist(client):
    client.post("/v1/models/small:predict", json={"instances": ["a"]})
    metrics = client.get("/monitoring/prometheus/metrics").text
    file = DOCKER / "grafana" / "dashboards" / "keras_bert.json"
    dashboard = json.loads(file.read_text())
    names = re.findall(
        r"\b(?:keras_bert|process)_\w+",
        " ".join(
            target["expr"]
            for panel in dashboard["panels"]
            for target in panel["targets"]
        ),
    )
    assert len(set(names)) > 9
    for name in names:
        assert re.search(rf"(?m)^{name}[ {{]", metrics), name


def test_compose_sets_variables_that_are_flags():
    compose = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    variables = set(compose["services"]["server"]["environment"])
    dockerfile = (ROOT / "Dockerfile").read_text()
    variables |= set(re.findall(r"\bKERAS_BERT_\w+(?==)", dockerfile))
    assert len(variables) > 1
    assert variables <= set(re.findall(r"\[(\w+)\]", run("serve", "--help")))


def test_prometheus_scrapes_the_server(client):
    config = yaml.safe_load((DOCKER / "prometheus.yaml").read_text())
    (scrape,) = config["scrape_configs"]
    assert client.get(scrape["metrics_path"]).status_code == 200
    services = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]
    (target,) = scrape["static_configs"][0]["targets"]
    name, _, port = target.partition(":")
    assert services[name]["ports"] == [f"{port}:{port}"]
