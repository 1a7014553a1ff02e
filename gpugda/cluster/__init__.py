"""Workers of a Dask cluster as places that run tasks of an `Exchange`; needs `gpugda[cluster]`."""
