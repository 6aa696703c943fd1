"""A Ray cluster of this machine: two nodes on loopback, until stdin ends.

Prints the cluster's address. A line `remove` on stdin ends the second node.
"""

import sys

from ray.cluster_utils import Cluster

# Ray takes 127.0.0.1 for "this machine" and replaces it by another of its addresses.
FIRST, SECOND = "127.0.0.2", "127.0.0.3"
NODE = {"num_cpus": 1, "object_store_memory": 80_000_000}


def main() -> None:
    head = {**NODE, "node_ip_address": FIRST, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        second = cluster.add_node(**NODE, node_ip_address=SECOND)
        print(cluster.address, flush=True)
        for line in sys.stdin:
            if line.strip() == "remove":
                cluster.remove_node(second, allow_graceful=False)
                print("removed", flush=True)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
