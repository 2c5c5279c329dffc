"""Any number of samples in Parquet, and the same analyses over them on all cores or a cluster."""
