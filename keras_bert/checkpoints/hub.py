"""hf://owner/name -> a folder on this machine (extra `hub`)."""

import functools
from pathlib import Path

from keras_bert.errors import InputError

SCHEME = "hf://"
_BESIDE = "*config.json modules.json tokenizer.json vocab.txt *_Dense/*".split()
# The first of these that the repository has is downloaded.
_WEIGHTS = ("model*.safetensors*", "pytorch_model*.bin*", "tf_model.h5")


@functools.cache  # a run asks for the same address several times
def download(url: str) -> Path:
    """Downloads weights, config and vocabulary; returns their folder.

    Files go to the cache of huggingface_hub and are downloaded once. Its
    variables HF_ENDPOINT, HF_HOME, HF_HUB_OFFLINE and HF_TOKEN apply.

    Args:
        url: "hf://google-bert/bert-base-uncased", or with a branch, tag or
            commit: "hf://google-bert/bert-base-uncased@main".

    Raises:
        OSError: If the download fails.
    """
    try:
        import huggingface_hub
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    except ImportError as error:
        raise InputError(
            f"{url} is on the Hugging Face Hub, and huggingface_hub is not "
            "installed; pip install 'keras-bert-tf[hub]'."
        ) from error
    name, _, revision = url.removeprefix(SCHEME).partition("@")
    for weights in _WEIGHTS:
        try:
            folder = huggingface_hub.snapshot_download(
                name,
                revision=revision or None,
                allow_patterns=[*_BESIDE, weights],
            )
        except (OSError, HfHubHTTPError, HFValidationError) as error:
            raise OSError(
                f"Cannot get {url} ({str(error).splitlines()[0]}); check the "
                "name, the connection and HF_ENDPOINT, or give a folder."
            ) from error
        if any(Path(folder).glob(weights)):
            return Path(folder)
    raise FileNotFoundError(
        f"{url} has none of model.safetensors, pytorch_model.bin and "
        "tf_model.h5."
    )
