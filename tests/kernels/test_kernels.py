"""The twins of every kernel have one signature, and every .cu compiles; no GPU needed."""

import ast
import functools
import inspect
import itertools
import re

import pytest

from rapidsgraph import device
from rapidsgraph.device.launcher import GROUPS, MINIMAL
from rapidsgraph.kernels import constants

STEMS = sorted(path.stem for path in device.KERNELS.glob("*.cu"))
DEFAULT = "sm_90"
OLD, *NEWER = (
    pytest.param(f"sm_{number}", marks=pytest.mark.nvrtc_all) for number in (75, 80, 100)
)
ARCHITECTURES = OLD, *NEWER, DEFAULT
CUPY_OPTIONS = "-std=c++17", "--device-as-default-execution-space"
UNOPTIMIZED, FAST = "--device-debug", "--Ofast-compile=max"
FLOATS, INTEGERS, ANY = ("float", "double"), ("int", "long long"), ("bool", "int", "double")


def code(stem):
    """The text of a .cu without its comments."""
    text = (device.KERNELS / f"{stem}.cu").read_text()
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def twins(stem):
    """{entry: function} of the .py beside a .cu: its module-level functions, private ones not."""
    path = device.KERNELS / f"{stem}.py"
    assert path.exists(), f"{stem}.cu has no twin: write {path.name} beside it"
    return {
        node.name: node
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }


def element_types(stem):
    """{value_t: types to compile it for}, from the defaults that the .cu gives."""
    defaults = dict(re.findall(r"#ifndef\s+(\w+_t)\s+#define\s+\1\s+([\w ]+?)\s*\n", code(stem)))

    def choices(name):
        default = defaults[name]
        return (
            choices(default)
            if default in defaults
            else next(types for types in (FLOATS, INTEGERS, ANY) if default in types)
        )

    return {name: choices(name) for name in defaults}


def combinations(stem):
    types = element_types(stem)
    return [
        tuple(f"-D{name}={c_type}" for name, c_type in zip(types, chosen, strict=True))
        for chosen in itertools.product(*types.values())
    ]


def has_condition(stem):
    """Whether the source depends on the architecture; only on whether it is 8.0 or newer."""
    return "__CUDA_ARCH__" in device.cuda_source(stem)


@functools.cache
def nvrtc():
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except Exception as error:  # a missing library is not an ImportError everywhere
        pytest.fail(f"NVRTC cannot be used ({error}); install rapidsgraph[test]", pytrace=False)
    return nvrtc


def compile_cuda(source, *options):
    """(whether NVRTC accepts a source with the options of CuPy, its log)."""
    compiler = nvrtc()
    success = compiler.nvrtcResult.NVRTC_SUCCESS
    error, program = compiler.nvrtcCreateProgram(source.encode(), b"", 0, [], [])
    assert error == success
    options = [option.encode() for option in (*CUPY_OPTIONS, *options)]
    (result,) = compiler.nvrtcCompileProgram(program, len(options), options)
    _, size = compiler.nvrtcGetProgramLogSize(program)
    log = bytearray(size)
    compiler.nvrtcGetProgramLog(program, log)
    compiler.nvrtcDestroyProgram(program)
    return result == success, log.decode(errors="replace").rstrip("\0\n")


def test_there_are_kernels():
    assert "generate" in STEMS


@pytest.mark.parametrize("stem", STEMS)
def test_launch_sees_every_entry_of_the_cuda_twin(stem):
    assert len(device.signatures(stem)) == code(stem).count("__global__") > 0


@pytest.mark.parametrize("stem", STEMS)
def test_twins_have_the_same_entries_and_parameters(stem):
    cuda = {
        entry: [name for _, name in parameters]
        for entry, parameters in device.signatures(stem).items()
    }
    numba = {
        entry: [parameter.arg for parameter in node.args.args]
        for entry, node in twins(stem).items()
    }
    assert numba == cuda, f"{stem}.py and {stem}.cu differ"


@pytest.mark.parametrize("stem", STEMS)
def test_parameters_have_other_names_than_launch_options(stem):
    options = set(inspect.signature(device.launch).parameters) - {"stem", "entry"}
    for entry, parameters in device.signatures(stem).items():
        assert options.isdisjoint(name for _, name in parameters), entry


def launches():
    """(stem, entry, keywords, whether these are all) of the launches in the package's source."""
    package = device.KERNELS.parent
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or len(node.args) < 2:
                continue
            stem, entry = (getattr(argument, "value", None) for argument in node.args[:2])
            if stem in STEMS and isinstance(entry, str) and "launch" in ast.unparse(node.func):
                yield stem, entry, {word.arg for word in node.keywords}, path.name


def test_launches_pass_the_parameters_of_the_kernel():
    options = set(inspect.signature(device.launch).parameters)
    names = set()
    for stem, entry, keywords, path in launches():
        call = f"launch of {stem}.{entry} in {path}"
        signatures = device.signatures(stem)
        assert entry in signatures, f"{call}: {stem}.cu has no such entry"
        parameters = {name for _, name in signatures[entry]}
        arguments = keywords - options - {None}
        assert arguments <= parameters, f"{call}: unexpected {arguments - parameters}"
        missing = parameters - arguments
        assert None in keywords or missing in (set(), {"start", "stop"}), (
            f"{call}: without {missing}"
        )
        names.add((stem, entry))
    assert len(names) > 50


@pytest.mark.parametrize("stem", STEMS)
def test_parameters_have_types_that_launch_can_bind(stem):
    types = element_types(stem)
    arrays = {f"{kind}*" for kind in (*device.C_TYPES.values(), *types)}
    for entry, parameters in device.signatures(stem).items():
        kinds = {kind for kind, _ in parameters}
        assert kinds <= arrays | {"long long", "double"}, f"{stem}.{entry}"


@pytest.mark.parametrize("stem", STEMS)
def test_numba_twins_return_nothing_and_round_as_written(stem):
    text = (device.KERNELS / f"{stem}.py").read_text()
    assert "fastmath" not in text
    for entry, node in twins(stem).items():
        returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
        assert returned.count(None) == len(returned), f"{stem}.{entry} returns a value"
        has_loop = any(isinstance(n, (ast.For, ast.While)) for n in ast.walk(node))
        assert node.decorator_list or not has_loop, f"{stem}.{entry} has an uncompiled loop"


def test_constants_have_one_definition():
    names = set(constants.macros())
    for path in (*device.KERNELS.glob("*.cu"), *device.KERNELS.glob("*.cuh")):
        defined = re.findall(r"#define (\w+)|constexpr [\w ]+? (\w+) *=", path.read_text())
        assert names.isdisjoint(name for pair in defined for name in pair), path.name
    for path in device.KERNELS.glob("*.py"):
        assigned = re.findall(r"^([A-Z_0-9]+) =", path.read_text(), flags=re.M)
        assert path.stem == "constants" or names.isdisjoint(assigned), path.name


@pytest.mark.slow
@pytest.mark.parametrize("stem", STEMS)
def test_constants_reach_the_cuda_twin(stem):
    source = device.cuda_source(stem)
    words, macros = {*re.findall(r"\w+", source)}, constants.macros()
    used = {name: value for name, value in macros.items() if name in words}
    checks = "".join(f'static_assert({name} == {value}, "");\n' for name, value in used.items())
    macros = device.constant_macros(source)
    accepted, log = compile_cuda(f"{source}\n{checks}", UNOPTIMIZED, *macros)
    assert accepted, log


@pytest.mark.slow
def test_another_constant_in_the_cuda_twin_is_found():
    wrong = f'{device.cuda_source(STEMS[0])}\nstatic_assert(WARP == 33, "");\n'
    assert not compile_cuda(wrong, UNOPTIMIZED, *device.constant_macros(wrong))[0]


def test_conditions_on_the_architecture():
    conditions = {
        line.strip() for stem in STEMS for line in device.cuda_source(stem).splitlines()
        if "__CUDA_ARCH__" in line
    }  # fmt: skip
    assert conditions == {"#if __CUDA_ARCH__ >= 800"}


def to_ptx(architecture):
    """Options for PTX without optimization, which finds errors in a tenth of the time."""
    return f"--gpu-architecture={architecture.replace('sm_', 'compute_')}", UNOPTIMIZED


@pytest.mark.slow
@pytest.mark.parametrize("stem", [stem for stem in STEMS if len(combinations(stem)) > 1])
def test_cuda_twin_compiles_for_other_types(stem):
    check_compilation(stem, combinations(stem)[1:], *to_ptx(DEFAULT))


@pytest.mark.slow
@pytest.mark.nvrtc_all
@pytest.mark.parametrize("stem", [stem for stem in STEMS if has_condition(stem)])
def test_cuda_twin_of_old_architectures_compiles_for_other_types(stem):
    check_compilation(stem, combinations(stem)[1:], *to_ptx("sm_75"))


@pytest.mark.slow
@pytest.mark.nvrtc_all
@pytest.mark.parametrize("architecture", NEWER)
@pytest.mark.parametrize("stem", STEMS)
def test_cuda_twin_compiles_for_newer_architectures(stem, architecture):
    """To PTX, which needs the intrinsic functions; instructions in the source are assembled.

    The source is the one that `test_cuda_twin_compiles` compiles to machine code for sm_90.
    """
    has_instructions = "asm" in device.cuda_source(stem)
    options = (
        (f"--gpu-architecture={architecture}", FAST) if has_instructions else to_ptx(architecture)
    )
    check_compilation(stem, combinations(stem)[:1], *options)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", [OLD, DEFAULT])
@pytest.mark.parametrize("stem", STEMS)
def test_cuda_twin_compiles(request, stem, architecture):
    """To machine code for the default types.

    With all optimizations for one architecture if --nvrtc-all is given, otherwise with few.
    """
    is_optimized = architecture == DEFAULT and request.config.getoption("--nvrtc-all")
    options = () if is_optimized else (FAST,)
    check_compilation(stem, combinations(stem)[:1], f"--gpu-architecture={architecture}", *options)


@pytest.mark.slow
@pytest.mark.parametrize("stem", STEMS)
def test_an_entry_is_compiled_alone(stem):
    for entry in device.signatures(stem):
        source = device.select_entries(device.cuda_source(stem), entry)
        assert device.ENTRY_POINT.findall(source)[0][0] == entry
        assert len(device.ENTRY_POINT.findall(source)) == 1
        options = *to_ptx(DEFAULT), *MINIMAL
        accepted, log = compile_cuda(source, *options, *device.constant_macros(source))
        assert accepted, f"{stem}.{entry}:\n{log}"


@pytest.mark.parametrize("stem", sorted(GROUPS))
def test_groups_of_entries_have_no_element_types(stem):
    signatures = device.signatures(stem)
    entries = [entry for group in GROUPS[stem] for entry in group]
    assert len(set(entries)) == len(entries)
    for entry in entries:
        assert not any(c_type.endswith("_t*") for c_type, _ in signatures[entry]), entry


@pytest.mark.slow
@pytest.mark.parametrize("stem", sorted(GROUPS))
def test_groups_of_entries_are_compiled_together(stem):
    for group in GROUPS[stem]:
        source = device.select_entries(device.cuda_source(stem), *group)
        assert {name for name, _ in device.ENTRY_POINT.findall(source)} == set(group)
        options = f"--gpu-architecture={DEFAULT}", FAST, *MINIMAL
        accepted, log = compile_cuda(source, *options, *device.constant_macros(source))
        assert accepted, log


def check_compilation(stem, combinations, *options):
    source = device.cuda_source(stem)
    for types in combinations:
        accepted, log = compile_cuda(source, *options, *device.constant_macros(source), *types)
        assert accepted, f"{stem}.cu with {' '.join((*options, *types))}:\n{log}"


@pytest.mark.slow
@pytest.mark.parametrize("stem", STEMS)
def test_compiler_errors_name_the_real_file_and_line(stem):
    source = device.cuda_source(stem)
    accepted, log = compile_cuda(source + "\nthis is no C++;\n", *device.constant_macros(source))
    path = (device.KERNELS / f"{stem}.cu").as_posix()
    lines = (device.KERNELS / f"{stem}.cu").read_text().count("\n") + 2  # from 1, and an empty one
    assert not accepted
    assert f"{path}({lines}): error" in log, log
