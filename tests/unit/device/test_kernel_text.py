"""Source text of one kernel."""

import pytest

from gpugda.device.kernel_text import kernel_files, kernel_names, kernel_text, only_kernel

OTHERS = "gpugda_strategies/opencl"
FILES = [
    *kernel_files("gpugda_opencl"),
    *(f"{OTHERS}/{file}" for file in kernel_files(OTHERS)),
]


@pytest.mark.parametrize("file", FILES)
def test_the_text_of_a_single_kernel_is_complete(file):
    text = kernel_text(file)
    names = kernel_names(text)
    assert names
    assert text.count("\nkernel ") == sum(
        only_kernel(text, name).count("\nkernel ") for name in names
    )
    for name in names:
        alone = only_kernel(text, name)
        assert kernel_names(alone) == [name]
        assert alone.count("{") == alone.count("}")


def test_the_text_of_a_single_kernel_keeps_functions_only():
    text = "uint f(uint a) {\n    return a;\n}\n\nkernel void one(uint a) {\n}\n\n"
    other = "kernel __attribute__((x(1, 1))) void two(\n    uint a) {\n    if (a) {\n    }\n}\n"
    assert kernel_names(text + other + other) == ["one", "two"]
    assert only_kernel(text + other, "one") == text
    assert "one" not in only_kernel(text + other, "two")
    assert "uint f" in only_kernel(text + other, "two")


def test_headers_are_those_beside_the_file_or_those_of_gpugda():
    text = kernel_text(f"{OTHERS}/gsi_join.cl")
    assert "#include" not in text
    for beside in ("LISTS_PARAMETERS", "FOR_EACH("):
        assert f"#define {beside}" in text


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_each_kernel_builds_alone(context, file):
    import pyopencl as cl

    profile = context.profile
    for name in kernel_names(kernel_text(file)):
        program = cl.Program(context.context, only_kernel(kernel_text(file), name))
        built = program.build(options=[*profile.options, *profile.defines])
        assert [each.function_name for each in built.all_kernels()] in ([], [name])
