"""The least and the largest of integers, as the kernels that include limits.cuh find them."""


def decode_limits(complement: int, most: int, is_signed: bool) -> tuple[int, int]:
    """Return the least and the largest integer from limits.cuh, read as signed or unsigned."""
    offset = 1 << 63 if is_signed else 0
    return (~complement % 2**64) - offset, most % 2**64 - offset
