"""The memory that a compiled function of JAX needs."""


def memory_of(compiled) -> int:
    """Returns the bytes of its arguments, results and intermediate arrays."""
    sizes = compiled.memory_analysis()
    return (
        sizes.argument_size_in_bytes
        + sizes.output_size_in_bytes
        - sizes.alias_size_in_bytes  # results in the place of arguments
        + sizes.temp_size_in_bytes
    )
