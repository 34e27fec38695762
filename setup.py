"""Packages keras_bert with its model configs and pins its dependencies."""

from pathlib import Path

import setuptools

_HERE = Path(__file__).parent
_VERSION = "0.1.0"
# Where tensorflow-text has wheels; elsewhere, TensorFlow finds the pieces.
_HAS_TENSORFLOW_TEXT = (
    "(sys_platform == 'linux' and platform_machine == 'x86_64') or "
    "(sys_platform == 'darwin' and platform_machine == 'arm64')"
)
# The site of `make docs`, and what runs the notebooks.
_DOCS = [
    "furo",
    "ipykernel",
    "myst-nb",
    "nbclient",
    "sphinx",
    "sphinx-copybutton",
]

setuptools.setup(
    name="keras-bert-tf",
    version=_VERSION,
    description="BERT for TensorFlow and Keras 3, from pre-training to serving",
    long_description=(_HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author="The keras_bert authors",
    license="Apache-2.0",
    license_files=["LICENSE"],
    keywords="bert tensorflow keras nlp transformer embeddings",
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
    entry_points={
        "console_scripts": ["keras-bert = keras_bert.commands.main:main"]
    },
    # Keras 3.15 needs 3.11; TensorFlow 2.21 has no wheels for 3.14.
    python_requires=">=3.11,<3.14",
    # configs/ is at the top level of the repository, where people look for
    # it. An installed package contains it (see BertConfig.from_name).
    packages=[
        *setuptools.find_packages(include=["keras_bert", "keras_bert.*"]),
        "keras_bert.configs.models",
    ],
    package_dir={"keras_bert.configs.models": "configs/models"},
    package_data={
        "keras_bert": ["py.typed"],
        "": ["*.pyi"],
        "keras_bert.checkpoints": ["mini_en/*", "mini_ko_en/*"],
        "keras_bert.commands": ["completion.bash"],
        "keras_bert.configs.models": ["*.json"],
        "keras_bert.server": ["openapi.json", "page/*"],
    },
    install_requires=[
        "absl-py",
        "google-crc32c",
        # tensorflow-datasets 4.9.10 needs it to prepare a data set.
        "importlib_resources",
        "keras>=3.15",
        "lazy_loader",
        "matplotlib",
        "ml_dtypes",
        "numpy",
        "safetensors>=0.8",
        "scikit-learn",
        "scipy",
        "seqeval",
        "tensorboard",
        "tensorflow>=2.21,<2.22",
        "tensorflow-datasets",
        # Importing 2.21.0 fails: undefined symbol.
        f"tensorflow-text>=2.21.1,<2.22; {_HAS_TENSORFLOW_TEXT}",
        "tqdm",
    ],
    extras_require={
        "test": [
            "ai-edge-litert",
            "apache-beam[tfrecord]",
            "httptools",
            "httpx",
            "httpx2",
            "huggingface_hub",
            "jax",
            "jsonschema",
            "moto[s3,server]",
            "mypy",
            "nncf",
            "onnx",
            "onnxruntime",
            "openai",
            "openvino",
            "openapi-spec-validator",
            "pandas",
            "polars",
            "prometheus_client",
            "pyarrow",
            "pytest",
            "pytest-xdist",
            "pytrec_eval-terrier",
            "pyyaml",
            "ruff",
            "s3fs>=2025.2",
            "selenium",
            "starlette>=1.0.1",
            "tensorflow-serving-api>=2.21,<2.22",
            "tf2onnx",
            "tokenizers",
            "universal_pathlib>=0.3",
            "uvicorn",
            *_DOCS,
        ],
        # Apache Beam cannot write TFRecords without its extra.
        "beam": ["apache-beam[tfrecord]"],
        "docs": _DOCS,
        "hub": ["huggingface_hub"],
        "litert": ["ai-edge-litert"],
        "onnx": ["onnx", "onnxruntime", "tf2onnx"],
        "openvino": ["nncf", "openvino"],
        "parquet": ["pyarrow"],
        # Its wheels have trec_eval.
        "retrieval": ["pytrec_eval-terrier"],
        "serve": [
            "httptools",
            "prometheus_client",
            # Before, the header Host could change the path (CVE-2026-48710).
            "starlette>=1.0.1",
            # Has the messages of warm-up requests.
            "tensorflow-serving-api>=2.21,<2.22",
            "tokenizers",
            "uvicorn",
        ],
        "storage": [
            "gcsfs>=2025.2",
            "s3fs>=2025.2",
            "universal_pathlib>=0.3",
        ],
        # Reads pytorch_model.bin; before 2.6, not safely (CVE-2025-32434).
        "torch": ["torch>=2.6"],
    },
)
