# Builds an image of `keras-bert serve`, the server of exported models:
#
#   docker build --tag keras_bert .
#   docker run -p 8501:8501 -v "$PWD/served:/models/sst2:ro" \
#       keras_bert --model_dir=/models/sst2
#   docker run -p 8501:8501 -v keras_bert_cache:/cache \
#       -e KERAS_BERT_MODEL=hf://sentence-transformers/all-MiniLM-L6-v2 keras_bert
FROM python:3.11-slim

WORKDIR /keras_bert
COPY . .
# The cache keeps TensorFlow for the next build. setup.py sets the versions.
# hadolint ignore=DL3013
RUN --mount=type=cache,target=/root/.cache/pip pip install '.[hub,serve]'

RUN useradd --uid 1000 --no-create-home --shell /usr/sbin/nologin server && \
    install --directory --owner=1000 /cache
# A number, because from a name, Kubernetes cannot know that the user is not
# root.
USER 1000

ENV PYTHONUNBUFFERED=1 KERAS_BERT_CACHE_DIR=/cache HF_HOME=/cache/huggingface
VOLUME /cache /models
EXPOSE 8501
# The first start with a KERAS_BERT_MODEL downloads and exports the model.
HEALTHCHECK --start-period=300s CMD ["python", "-c", \
    "import urllib.request as u; u.urlopen('http://localhost:8501/healthz', timeout=5)"]
ENTRYPOINT ["keras-bert", "serve"]
