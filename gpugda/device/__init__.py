from gpugda.device.caches import prepare_caches

prepare_caches()  # before any module of this package imports pyopencl
