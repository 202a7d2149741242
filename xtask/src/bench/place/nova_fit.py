"""Times Nova's numa_fit_instance_to_host on hosts and guests told as lines of JSON.

Reads one request a line and answers each with one line:
  {"hello": true}                                        -> {"nova": ..., "python": ...}
  {"host": {...}, "guest": {...}, "seconds": s, "least": n} -> {"fits": ..., "cells": [...], "us": [...]}
  {"hosts": [...], "guest": {...}}                       -> {"fitting": n, "us": total}

A host is a list of nodes: {"cores": [[cpu, ...], ...], "taken": [cpu, ...], "pages": all, "free": left} in
pages of 2 MiB. A guest is a list of cells: {"vcpus": n, "pages": n}. Times are CPU time of the thread, so
that a busy machine does not count; the guest is built anew for each call, outside the time, since the call
writes into it; garbage is collected between the measurements.
"""
import gc
import json
import sys
import time
import warnings

warnings.simplefilter("ignore")

import nova.conf  # noqa: E402
from nova import objects, version  # noqa: E402
from nova.virt import hardware  # noqa: E402

PAGE_MIB = 2
PAGE_KIB = 2048


def host_of(nodes):
    cells = []
    for number, node in enumerate(nodes):
        taken = set(node["taken"])
        cells.append(
            objects.NUMACell(
                id=number,
                socket=number * 2 // max(len(nodes), 2),
                cpuset=set(),
                pcpuset={cpu for core in node["cores"] for cpu in core},
                siblings=[set(core) for core in node["cores"]],
                pinned_cpus=taken,
                cpu_usage=len(taken),
                # A tenth more than the hugepages, in base pages.
                memory=node["pages"] * PAGE_MIB * 10 // 9,
                memory_usage=0,
                network_metadata=objects.NetworkMetadata(physnets=set(), tunneled=False),
                mempages=[
                    objects.NUMAPagesTopology(
                        size_kb=4, total=node["pages"] * PAGE_KIB // 36, used=0, reserved=0
                    ),
                    objects.NUMAPagesTopology(
                        size_kb=PAGE_KIB, total=node["pages"], used=node["pages"] - node["free"], reserved=0
                    ),
                ],
            )
        )
    return objects.NUMATopology(cells=cells)


def guest_of(wanted):
    cells, first = [], 0
    for number, cell in enumerate(wanted):
        cells.append(
            objects.InstanceNUMACell(
                id=number,
                cpuset=set(),
                pcpuset=set(range(first, first + cell["vcpus"])),
                memory=cell["pages"] * PAGE_MIB,
                pagesize=PAGE_KIB,
                cpu_policy="dedicated",
                cpu_thread_policy=None,
                cpu_pinning={},
                cpuset_reserved=None,
            )
        )
        first += cell["vcpus"]
    return objects.InstanceNUMATopology(cells=cells, emulator_threads_policy=None)


def timed(host, guest, limits):
    start = time.thread_time_ns()
    answer = hardware.numa_fit_instance_to_host(host, guest, {}, limits=limits)
    return answer, (time.thread_time_ns() - start) / 1e3


def one_host(request, limits):
    host, times = host_of(request["host"]), []
    end = time.monotonic() + request["seconds"]
    answer = None
    while len(times) < request["least"] or time.monotonic() < end:
        answer, took = timed(host, guest_of(request["guest"]), limits)
        times.append(took)
    cells = None
    if answer is not None:
        cells = [{"node": cell.id, "cpus": sorted((cell.cpu_pinning or {}).values())} for cell in answer.cells]
    return {"fits": answer is not None, "cells": cells, "us": times}


def many_hosts(request, limits):
    hosts = [host_of(host) for host in request["hosts"]]
    guests = [guest_of(request["guest"]) for _ in hosts]
    fitting, total = 0, 0.0
    for host, guest in zip(hosts, guests):
        answer, took = timed(host, guest, limits)
        fitting += answer is not None
        total += took
    return {"fitting": fitting, "us": total}


def main():
    objects.register_all()
    nova.conf.CONF([], project="nova", default_config_files=[])
    limits = objects.NUMATopologyLimits(cpu_allocation_ratio=1.0, ram_allocation_ratio=1.0)
    for line in sys.stdin:
        request = json.loads(line)
        gc.collect()
        gc.disable()
        if "hello" in request:
            answer = {"nova": version.version_string(), "python": sys.version.split()[0]}
        elif "hosts" in request:
            answer = many_hosts(request, limits)
        else:
            answer = one_host(request, limits)
        gc.enable()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
