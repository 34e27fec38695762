#!/usr/bin/env bash
# From a text file to a served answer. Trains BERT-tiny from random weights.
#
#     examples/from_text_to_answer.sh TEXT FILMS OUT [STEPS] [PORT]
#
# TEXT has one sentence per line and a blank line between documents. FILMS is
# GLUE's folder SST-2.
set -euo pipefail
text=$1 films=$2 out=$3 steps=${4:-2000} port=${5:-8501}
network=$(dirname "$0")/../configs/models/bert_tiny.json
mkdir -p "$out"

# Learn the word pieces of the text.
keras-bert build-vocab --input_file="$text" --output_file="$out/vocab.txt"
# Set vocab_size in the config to the number of pieces.
sed "s/30522/$(wc -l < "$out/vocab.txt")/" "$network" > "$out/bert_config.json"
# Write pairs of sentences, without masks.
keras-bert create-pretraining-data --input_file="$text" --dynamic_masking \
    --vocab_file="$out/vocab.txt" --output_file="$out/train.tfrecord" --max_seq_length=64
# Learn to fill masks, and to recognize the next sentence.
keras-bert pretrain --input_file="$out/train.tfrecord" --vocab_file="$out/vocab.txt" \
    --bert_config_file="$out/bert_config.json" --output_dir="$out/pretrained" \
    --max_seq_length=64 --train_batch_size=64 --learning_rate=1e-3 \
    --num_train_steps="$steps" --num_warmup_steps="$((steps / 10))"
# Learn whether a review is positive.
keras-bert finetune --task=glue/sst2 --data_dir="$films" --checkpoint="$out/pretrained" \
    --output_dir="$out/tuned" --max_seq_length=64 --learning_rate=2e-4
# Put the tokenizer, the network and the labels into one folder.
keras-bert export --checkpoint="$out/tuned" --export_dir="$out/served"
# Serve the folder, and ask.
keras-bert serve --model_dir="$out/served" --port="$port" &
trap 'kill $!' EXIT
curl --silent --fail --retry 60 --retry-connrefused --retry-delay 1 \
    "http://localhost:$port/v1/models/served:predict" \
    --data '{"instances": ["a lovely film"]}' --write-out '\n'
