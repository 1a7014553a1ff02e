"""A function's module is loaded on the first use of one of its functions; other modules are not."""

import subprocess
import sys

from gpugda.expressions.functions import _APOC, _APOC_MODULES, _MODULES, _functions, find_function

LOOKS = """
import sys
from gpugda.expressions.functions import find_function
assert find_function("labels").name == "labels"
assert find_function("apoc.map.merge") is not None
print([each for each in sys.modules if each.endswith(("functions.temporal", "functions.text"))])
"""


def test_modules_of_other_functions_are_not_loaded():
    found = subprocess.run([sys.executable, "-c", LOOKS], capture_output=True, text=True)
    assert found.stdout == "[]\n", found.stderr


def test_each_name_is_in_one_module_and_found_there():
    names = [name for module in (*_MODULES, *_APOC_MODULES) for name in _functions(module)]
    assert len(names) == len(set(names)) > 100
    assert all(find_function(name.upper(), 25).name.lower() == name for name in names)
    for modules, is_apoc in ((_MODULES, False), (_APOC_MODULES, True)):
        found = {name for module in modules for name in _functions(module)}
        assert {name.startswith(_APOC) for name in found} == {is_apoc}
