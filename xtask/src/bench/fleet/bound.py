"""The most guests of a batch that hosts can take, as OR-tools' CP-SAT finds and bounds it.

Reads {"hosts": n, "nodes": [{"threads": n, "smt": n, "mib": [4K, 2M]}, ...], "guests": [{"vcpus": n,
"memory_mib": n, "huge": bool, "isolate": bool, "cells": n}, ...], "seconds": s}, prints {"best": n, "bound":
n, "closed": bool, "seconds": s}. Hosts are alike.

A guest of one cell is on one node; one of two is on one host, on one or two of its nodes, with its memory in
proportion to its vCPUs. An isolated vCPU takes all threads of a core. That is a little less than is asked
for (whole cores are not followed), so that the bound holds. Guests that are alike are counted.
"""
import collections
import json
import sys

from ortools.sat.python import cp_model


def main():
    asked = json.load(sys.stdin)
    nodes, hosts = asked["nodes"], range(asked["hosts"])
    model = cp_model.CpModel()
    places = [(host, node) for host in hosts for node in range(len(nodes))]
    threads = {place: [] for place in places}
    memory = {(place, huge): [] for place in places for huge in (0, 1)}
    placed = []

    def take(place, guest, vcpus):
        """`vcpus` of the guest, a term, on a node."""
        smt = nodes[place[1]]["smt"] if guest["isolate"] else 1
        threads[place].append(vcpus * smt)
        each, rest = divmod(guest["memory_mib"], guest["vcpus"])
        assert rest == 0, "memory is told by vCPU"
        memory[place, int(guest["huge"])].append(vcpus * each)

    kinds = collections.Counter(tuple(sorted(guest.items())) for guest in asked["guests"])
    for number, (kind, count) in enumerate(sorted(kinds.items())):
        guest = dict(kind)
        if guest["cells"] == 1:
            here = {place: model.new_int_var(0, count, f"k{number}{place}") for place in places}
            model.add(sum(here.values()) <= count)
            placed.extend(here.values())
            for place in places:
                take(place, guest, here[place] * guest["vcpus"])
            continue
        for copy in range(count):
            on = {host: model.new_bool_var(f"g{number}.{copy}.{host}") for host in hosts}
            model.add_at_most_one(on.values())
            placed.extend(on.values())
            for host in hosts:
                parts, used = [], []
                for node in range(len(nodes)):
                    part = model.new_int_var(0, guest["vcpus"], "")
                    is_used = model.new_bool_var("")
                    model.add(part <= guest["vcpus"] * is_used)
                    parts.append(part)
                    used.append(is_used)
                    take((host, node), guest, part)
                model.add(sum(parts) == guest["vcpus"] * on[host])
                model.add(sum(used) <= guest["cells"] * on[host])
    for place in places:
        node = nodes[place[1]]
        model.add(sum(threads[place]) <= node["threads"])
        for huge in (0, 1):
            model.add(sum(memory[place, huge]) <= node["mib"][huge])
    model.maximize(sum(placed))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = asked["seconds"]
    solver.parameters.num_workers = 4
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    answer = {
        "best": round(solver.objective_value) if found else 0,
        "bound": int(solver.best_objective_bound + 1e-6),
        "closed": status == cp_model.OPTIMAL,
        "seconds": solver.wall_time,
    }
    print(json.dumps(answer))


main()
