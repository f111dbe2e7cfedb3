"""Calls of the official Python client of Kubernetes through the console: list, watch, server-side apply and delete."""

import json
import threading

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

NAMESPACE = "default"
NAME = "from-python"

config.load_kube_config()
core = client.CoreV1Api()
maps = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="v1", kind="ConfigMap")


def apply(value, manager, **options):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}, "data": {"color": value}}
    return maps.server_side_apply(body, namespace=NAMESPACE, field_manager=manager, **options)


def status_of(call):
    try:
        call()
        return 200
    except ApiException as error:
        return error.status


before = core.list_namespaced_config_map(NAMESPACE)
events = []


def follow():
    stream = watch.Watch().stream(
        core.list_namespaced_config_map,
        NAMESPACE,
        field_selector=f"metadata.name={NAME}",
        resource_version=before.metadata.resource_version,
        timeout_seconds=60,
    )
    for event in stream:
        events.append([event["type"], event["object"].data["color"]])
        if event["type"] == "DELETED":
            return


follower = threading.Thread(target=follow)
follower.start()
applied = apply("red", "python")
conflict = status_of(lambda: apply("blue", "other"))
apply("blue", "other", force_conflicts=True)
managers = sorted(entry.manager for entry in core.read_namespaced_config_map(NAME, NAMESPACE).metadata.managed_fields)
listed = core.list_namespaced_config_map(NAMESPACE, field_selector=f"metadata.name={NAME}")
core.delete_namespaced_config_map(NAME, NAMESPACE)
follower.join()

print(
    json.dumps(
        {
            "applied": applied.data.color,
            "conflict": conflict,
            "managers": managers,
            "listed": [item.data for item in listed.items],
            "events": events,
            "afterwards": status_of(lambda: core.read_namespaced_config_map(NAME, NAMESPACE)),
            "nodes": status_of(core.list_node),
        }
    )
)
