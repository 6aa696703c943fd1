"""Steps on a cluster, driven from a script; see `meshwright.parallelize`."""
