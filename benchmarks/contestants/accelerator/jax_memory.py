"""The memory that a compiled JAX function needs."""


def memory_of(compiled) -> int:
    """Returns the bytes of arguments, results and intermediate arrays."""
    sizes = compiled.memory_analysis()
    return (
        sizes.argument_size_in_bytes
        + sizes.output_size_in_bytes
        - sizes.alias_size_in_bytes  # results that replace arguments
        + sizes.temp_size_in_bytes
    )
