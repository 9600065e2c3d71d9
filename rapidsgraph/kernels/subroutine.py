"""Kernels that other kernels call, as subroutines: code that is optimized for its callers only.

Numba optimizes every function by itself, compiles it to machine code, and wraps it for Python,
before it links it into its callers and optimizes it again. Of a subroutine it only generates the
LLVM IR and simplifies it, which takes a third of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba import types
from numba.core import sigutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, Flags, compile_internal
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher


class KernelFlags(Flags):
    """Flags that are compared and hashed fast, which Numba does for every typed expression.

    Numba reads each option through a property, and hashes their names only.
    """

    __slots__ = ()

    def values(self) -> dict[str, Any]:
        """Return the values of all options."""
        return DEFAULTS | self._values

    def __eq__(self, other: object) -> bool:
        """Return whether all values are equal."""
        is_same = isinstance(other, Flags) and self._values == other._values
        return is_same or super().__eq__(other)

    def __hash__(self) -> int:
        """Return the hash of all flags."""
        return HASH


DEFAULTS, HASH = {name: option.default for name, option in Flags.options.items()}, hash(Flags())


class SubroutineLibrary(JITCodeLibrary):
    """LLVM IR that is linked into other libraries, and optimized there."""

    def add_llvm_module(self, ll_module: Any) -> None:
        """Add a module, each function of which is simplified by itself.

        These passes are cheap, and without them LLVM inlines less and keeps the counters of loops.
        """
        self._optimize_functions(ll_module)
        self._final_module.link_in(ll_module)

    def finalize(self) -> None:
        """Link the libraries of called functions."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True


class _Compiler(Compiler):
    """Compile a function into a `SubroutineLibrary`."""

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        library = SubroutineLibrary(targetctx.codegen(), "subroutine")
        library.enable_object_caching()
        _set_flags(flags)
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)


class _Subroutine(CPUDispatcher):
    """A function in the form in which kernels call it."""

    def __init__(
        self, function: FunctionType, options: dict[str, Any], implement: Callable[..., Any]
    ) -> None:
        super().__init__(function, {}, options, _Compiler)
        self._compiler._get_implementation = implement
        self._compiler._customize_flags = KernelFlags

    def compile(self, sig: Any) -> Any:
        """Compile a signature, and return the key by which the target context finds its code."""
        arguments, return_type = sigutils.normalize_signature(sig)
        with global_compiler_lock:
            result = self.overloads.get(tuple(arguments))
            if result is None:
                result = self._compiler.compile(arguments, return_type)
                result = result._replace(entry_point=object())
                self.targetctx.insert_user_function(
                    result.entry_point, result.fndesc, [result.library]
                )
                self.overloads[tuple(arguments)] = result
        return result.entry_point

    def get_call_template(self, arguments: Any, keywords: Any) -> Any:
        """Return the template of a call; constants share the code of variables."""
        arguments = [types.unliteral(argument) for argument in arguments]
        return super().get_call_template(arguments, keywords)


class Kernel(CPUDispatcher):
    """A function that Python calls; kernels call it as a subroutine.

    Parameters
    ----------
    function : function
    options : dict
        Options of `numba.njit`.
    implement : callable, optional
        Return the function to compile, by default `function`; called if there is no cached code.
    """

    def __init__(
        self,
        function: FunctionType,
        options: dict[str, Any],
        implement: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(function, {}, options)
        if implement is not None:
            self._compiler._get_implementation = implement
        self._compiler._customize_flags = KernelFlags
        self._subroutine = _Subroutine(function, options, self._compiler._get_implementation)

    def compile(self, sig: Any) -> Any:
        """Compile a signature, or load its cached code, and return the entry point.

        The garbage collector is paused: the compiler allocates many objects and few cycles, and
        collections would take a tenth of the time.
        """
        is_enabled = gc.isenabled()
        gc.disable()
        try:
            return super().compile(sig)
        finally:
            if is_enabled:
                gc.enable()

    @property
    def _numba_type_(self) -> types.Dispatcher:
        """Return the type by which other kernels call this one."""
        return types.Dispatcher(self._subroutine)


def compile_subroutine(
    context: Any, function: FunctionType, signature: Any, flags: Flags
) -> CompileResult:
    """Compile a function, and link it into the code that `context` is generating."""
    library = SubroutineLibrary(context.codegen(), function.__name__)
    library.enable_object_caching()
    result = compile_internal(
        context.typing_context, context, library, function, signature.args,
        signature.return_type, _set_flags(flags), locals={},
    )  # fmt: skip
    context.active_code_library.add_linking_library(library)
    return result


def _set_flags(flags: Flags) -> Flags:
    """Leave out machine code and the wrappers for callers in Python and C."""
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    return flags
