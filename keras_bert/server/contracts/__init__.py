"""The contracts with clients; each file has the routes of one contract."""

from keras_bert.server.contracts import (
    cohere,
    openai,
    operation,
    page,
    tensorflow_serving,
    text_embeddings_inference,
)

CONTRACTS = (
    tensorflow_serving.CONTRACT,
    openai.CONTRACT,
    text_embeddings_inference.CONTRACT,
    cohere.CONTRACT,
    operation.CONTRACT,
    page.CONTRACT,
    page.FILES,
)
