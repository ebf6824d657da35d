"""What an emulated host runs for its jobs: `member.py CORE FOLDER`. It loads the core alone."""

import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader

loader = ExtensionFileLoader("incast._core", sys.argv[1])
spec = spec_from_loader(loader.name, loader)
assert spec is not None, "an extension's loader makes one"
core = module_from_spec(spec)
loader.exec_module(core)
core.emulated_member(sys.argv[2])
