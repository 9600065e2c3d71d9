"""Parallel loops as functions of their own, which compile several times faster than in Numba.

Numba compiles each ``prange`` loop as a generalized ufunc, whose code it analyzes and optimizes
repeatedly. `outline` moves the body of a loop to a function of (start, stop, variables...) instead,
and `parallel_for` calls that function once per thread, with a contiguous range of iterations.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.ufunc.parallel import _launch_threads

from .subroutine import KernelFlags, compile_subroutine

PRANGE = "prange", "numba.prange"
INDEX, BYTES = ir.IntType(64), ir.IntType(8).as_pointer()
POINTER = INDEX.as_pointer()


def outline(function: FunctionType) -> FunctionType:
    """Return a function whose ``prange`` loops are functions that `parallel_for` calls.

    Parameters
    ----------
    function : function
        A kernel. Its loops iterate over ``prange(stop)`` or ``prange(start, stop)``, are not nested
        and reduce into arrays only. What a loop assigns is private to an iteration.

    Returns
    -------
    function
        Same name, parameters and line numbers.

    Raises
    ------
    TypeError
        If a loop reduces into a variable.
    """
    lines, first_line = inspect.getsourcelines(function)
    module = ast.parse(textwrap.dedent("".join(lines)))
    ast.increment_lineno(module, first_line - 1)
    (definition,) = module.body
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    outliner = _Outliner(definition)
    outliner.visit(definition)
    module.body = [*outliner.bodies, definition]
    code = compile(ast.fix_missing_locations(module), function.__code__.co_filename, "exec")
    functions: dict[str, FunctionType] = {}
    exec(code, function.__globals__, functions)
    assigned = _names(definition, ast.Store)
    loops = {
        body.name: parallel_for(
            _rebind(functions[body.name], function.__globals__),
            [argument.arg in assigned for argument in body.args.args[2:]],
        )
        for body in outliner.bodies
    }
    return _rebind(functions[definition.name], function.__globals__ | loops)


def _rebind(function: FunctionType, names: dict[str, Any]) -> FunctionType:
    """Return a copy of a function with other globals."""
    return FunctionType(function.__code__, names, function.__name__)


class _Outliner(ast.NodeTransformer):
    """Replace the parallel loops of a function by calls, and collect the called functions."""

    def __init__(self, definition: ast.FunctionDef) -> None:
        self.bodies: list[ast.FunctionDef] = []
        self._name = definition.name
        parameters = {argument.arg for argument in definition.args.args}
        self._variables = parameters | _names(definition, ast.Store)

    def visit_For(self, loop: ast.For) -> ast.AST:
        """Replace a loop over ``prange``."""
        if not (isinstance(loop.iter, ast.Call) and ast.unparse(loop.iter.func) in PRANGE):
            return self.generic_visit(loop)
        name, private = f"{self._name}_loop_{len(self.bodies)}", _names(loop, ast.Store)
        for variable in private - _assigned_names(loop):
            raise TypeError(f"{self._name}: a parallel loop reduces into the variable {variable!r}")
        shared = sorted(_names(loop, ast.Load) & self._variables - private)
        body = _parse_at(
            f"def {name}({', '.join(['_start', '_stop', *shared])}):\n"
            f"    for {ast.unparse(loop.target)} in range(_start, _stop): pass",
            loop,
        )
        body.body[0].body = loop.body
        self.bodies.append(body)
        *start, stop = map(ast.unparse, loop.iter.args)
        variables = "".join(f"{variable}, " for variable in shared)
        return _parse_at(f"{name}({start[0] if start else None}, {stop}, ({variables}))", loop)


def _parse_at(source: str, location: ast.AST) -> Any:
    """Return the syntax tree of a statement, at the position of another."""
    (statement,) = ast.parse(source).body
    for node in ast.walk(statement):
        ast.copy_location(node, location)
    return statement


def _names(tree: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """Return the variables that a syntax tree loads or stores."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {node.id for node in nodes if isinstance(node.ctx, context)}


def _assigned_names(loop: ast.For) -> set[str]:
    """Return the variables that a loop assigns other than by operators such as ``+=``."""
    targets = [loop.target]
    for node in ast.walk(loop):
        if isinstance(node, ast.For):
            targets.append(node.target)
        elif isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, ast.AnnAssign):
            targets.append(node.target)
    return set().union(*(_names(target, ast.Store) for target in targets))


def parallel_for(body: FunctionType, is_local: Sequence[bool]) -> Any:
    """Return an intrinsic that calls body(first, last, *variables) on all threads.

    Its arguments are (start, stop, variables). Iterations are [start, stop) in int64, or [0, stop)
    in uint64 if `start` is None, as those of Numba are. If a call fails, RuntimeError is raised
    when all have returned. As in Numba's loops, divisors are not tested for 0, and the arrays that
    are parameters of the kernel do not overlap; local variables (`is_local`) may be views of them.
    """

    @intrinsic
    def run(typing, start, stop, variables):
        kinds = [types.unliteral(kind) for kind in variables]
        index = types.uint64 if start == types.none else types.int64
        signature = types.void(index, index, *kinds)
        flags = KernelFlags()
        flags.nrt, flags.error_model = True, "numpy"
        flags.noalias = not any(
            local and isinstance(kind, types.Array)
            for local, kind in zip(is_local, kinds, strict=True)
        )

        def generate(context, builder, caller, values):
            first = INDEX(0) if start == types.none else _index(context, builder, values[0], start)
            last = _index(context, builder, values[1], stop)
            items = [
                _borrow(context, builder, context.cast(builder, item, given, kind), kind)
                for item, given, kind in zip(
                    cgutils.unpack_tuple(builder, values[2]), variables, kinds, strict=True
                )
            ]
            _launch_threads()  # defines the symbols of the threading layer
            context.active_code_library._reload_init.add(_launch_threads)  # of cached code
            get_num_threads = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(INDEX, []), "get_num_threads"
            )
            num_threads = builder.call(get_num_threads, [])
            struct = cgutils.make_anonymous_struct(
                builder, [INDEX(0), num_threads, first, last, *items]
            )
            function = compile_subroutine(context, body, signature, flags)
            task = _define_task(context, builder, function.fndesc, signature, struct.type)
            shared = cgutils.alloca_once_value(builder, struct)
            _run_tasks(builder, task, num_threads, shared)
            num_failed = builder.load(cgutils.gep_inbounds(builder, shared, 0, 0))
            with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, num_failed)):
                message = ("an iteration of a parallel loop failed",)
                context.call_conv.return_user_exc(builder, RuntimeError, message)
            return context.get_dummy_value()

        return types.void(start, stop, variables), generate

    return run


def _borrow(context, builder, value, kind):
    """Return an array without its owner, so that threads do not contend for its reference count."""
    if not isinstance(kind, types.Array):
        return value
    array = context.make_array(kind)(context, builder, value)
    for name in ("meminfo", "parent"):
        setattr(array, name, cgutils.get_null_value(getattr(array, name).type))
    return array._getvalue()


def _index(context, builder, value, kind):
    return context.cast(builder, value, kind, types.int64)


def _define_task(context, builder, function, signature, struct_type):
    """Define the function that a thread calls: body(first, last, *variables) for its range.

    The parameters are those of a generalized ufunc: the first argument is not a pointer, but the
    number of the task, because its base is 0 and its stride 1.
    """
    module = builder.module
    kind = ir.FunctionType(ir.VoidType(), [BYTES.as_pointer(), POINTER, POINTER, BYTES])
    task = ir.Function(module, kind, module.get_unique_name(f"{function.qualname}.task"))
    task.linkage = "internal"
    inner = ir.IRBuilder(task.append_basic_block())
    arguments, counts, _, data = task.args
    number = inner.ptrtoint(inner.load(arguments), INDEX)
    shared = inner.bitcast(data, struct_type.as_pointer())
    _, num_tasks, first, last, *items = (
        inner.load(cgutils.gep_inbounds(inner, shared, 0, i))
        for i in range(len(struct_type.elements))
    )
    size = inner.sub(last, first)
    size = inner.select(inner.icmp_signed(">", size, INDEX(0)), size, INDEX(0))
    bounds = [
        inner.add(first, inner.udiv(inner.mul(size, task_number), num_tasks))
        for task_number in (number, inner.add(number, inner.load(counts)))
    ]
    status, _ = context.call_internal_no_propagate(inner, function, signature, [*bounds, *items])
    with cgutils.if_unlikely(inner, status.is_error):
        inner.store(INDEX(1), cgutils.gep_inbounds(inner, shared, 0, 0))
    inner.ret_void()
    return task


def _run_tasks(builder, task, num_threads, shared):
    """Run a task per thread by Numba's threading layer, or one task in this thread."""
    first_task = cgutils.alloca_once_value(builder, BYTES(None))
    num_tasks = cgutils.alloca_once_value(builder, num_threads)
    stride = cgutils.alloca_once_value(builder, INDEX(1))
    arrays = [first_task, num_tasks, stride, builder.bitcast(shared, BYTES)]
    kind = ir.FunctionType(ir.VoidType(), [BYTES] * 5 + [INDEX] * 3)
    parallel_for = cgutils.get_or_insert_function(builder.module, kind, "numba_parallel_for")
    with builder.if_else(builder.icmp_signed("==", num_threads, INDEX(1))) as (serial, parallel):
        with serial:
            builder.call(task, arrays)
        with parallel:
            pointers = [builder.bitcast(pointer, BYTES) for pointer in (task, *arrays)]
            builder.call(parallel_for, [*pointers, INDEX(0), INDEX(1), num_threads])
