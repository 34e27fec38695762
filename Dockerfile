# The server of exported models, `keras-bert serve`:
#
#   docker build --tag keras_bert .
#   docker run -p 8501:8501 -v "$PWD/served:/models/sst2:ro" \
#       keras_bert --model_dir=/models/sst2
FROM python:3.11-slim

WORKDIR /keras_bert
COPY . .
# The cache keeps TensorFlow for the next build. setup.py has the versions.
# hadolint ignore=DL3013
RUN --mount=type=cache,target=/root/.cache/pip pip install '.[serve]'

RUN useradd --uid 1000 --no-create-home --shell /usr/sbin/nologin server
# A number, because Kubernetes cannot tell from a name that it is not root.
USER 1000

ENV PYTHONUNBUFFERED=1
VOLUME /models
EXPOSE 8501
HEALTHCHECK --start-period=60s CMD ["python", "-c", \
    "import urllib.request as u; u.urlopen('http://localhost:8501/healthz', timeout=5)"]
ENTRYPOINT ["keras-bert", "serve"]
