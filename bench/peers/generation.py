#!/usr/bin/env python3
"""Generation with a GPT of GPT-2's smallest size and random weights in other libraries, with the names of bench/gpt.cpp,
interleaved (turns.py).

    generation.py llama.cpp|CTranslate2 generate/int8/4 [--threads N]   64 tokens of each of four sequences
    generation.py llama.cpp|CTranslate2 prompt/int4 [--threads N]       a prompt of 1,024 tokens
    generation.py llama.cpp|CTranslate2 version

int8: Q8_0 of llama.cpp, int8 of CTranslate2; int4: Q4_0 of llama.cpp, all tensors of two axes.
"""
import argparse
import ctypes
import os
import sys
import tempfile
import time

import numpy as np

import turns

VOCABULARY, CONTEXT, WIDTH, HEADS, LAYERS, TOKENS = 50257, 1024, 768, 12, 12, 64
RANDOM = np.random.default_rng(0)


def weight(*shape):
    return RANDOM.standard_normal(shape, dtype=np.float32) * np.float32(0.02)


# ---- llama.cpp ----


class Llama:
    """Its C interface, without the sampler: the largest logit is chosen by NumPy."""

    FORMATS = {"int8": "Q8_0", "int4": "Q4_0"}

    @staticmethod
    def version():
        import gguf  # writes the file
        import llama_cpp
        commit = llama_cpp.llama_cpp._lib.ggml_commit
        commit.restype = ctypes.c_char_p
        return f"llama-cpp-python {llama_cpp.__version__}, ggml {commit().decode()}"

    def __init__(self, folder, dtype, threads, sequences):
        import llama_cpp
        path = os.path.join(folder, "model.gguf")
        self.write(path, self.FORMATS[dtype])
        self.api = llama_cpp
        self.quiet = llama_cpp.llama_log_callback(lambda *_: None)
        llama_cpp.llama_log_set(self.quiet, None)
        model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        options = llama_cpp.llama_context_default_params()
        options.n_ctx, options.n_seq_max = (CONTEXT, 1) if sequences == 0 else (2 * TOKENS * sequences, sequences)
        options.n_threads = options.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(model, options)
        self.batch = llama_cpp.llama_batch_init(CONTEXT, 0, 1)

    @staticmethod
    def write(path, name):
        import gguf
        kind = gguf.GGMLQuantizationType[name]
        to = gguf.GGUFWriter(path, "gpt2")
        to.add_context_length(CONTEXT)
        to.add_embedding_length(WIDTH)
        to.add_block_count(LAYERS)
        to.add_feed_forward_length(4 * WIDTH)
        to.add_head_count(HEADS)
        to.add_layer_norm_eps(1e-5)
        to.add_vocab_size(VOCABULARY)
        to.add_tokenizer_model("none")
        to.add_file_type(gguf.LlamaFileType[f"MOSTLY_{name}"])

        def linear(tensor, rows, columns):
            to.add_tensor(f"{tensor}.weight", gguf.quants.quantize(weight(rows, columns), kind), raw_dtype=kind)

        def biased(tensor, rows, columns):
            linear(tensor, rows, columns)
            to.add_tensor(f"{tensor}.bias", np.zeros(rows, np.float32))

        def norm(tensor):
            to.add_tensor(f"{tensor}.weight", np.ones(WIDTH, np.float32))
            to.add_tensor(f"{tensor}.bias", np.zeros(WIDTH, np.float32))

        linear("token_embd", VOCABULARY, WIDTH)  # the head, too
        to.add_tensor("position_embd.weight", weight(CONTEXT, WIDTH))
        norm("output_norm")
        for i in range(LAYERS):
            norm(f"blk.{i}.attn_norm")
            biased(f"blk.{i}.attn_qkv", 3 * WIDTH, WIDTH)
            biased(f"blk.{i}.attn_output", WIDTH, WIDTH)
            norm(f"blk.{i}.ffn_norm")
            biased(f"blk.{i}.ffn_up", 4 * WIDTH, WIDTH)
            biased(f"blk.{i}.ffn_down", WIDTH, 4 * WIDTH)
        to.write_header_to_file()
        to.write_kv_data_to_file()
        to.write_tensors_to_file()
        to.close()

    def read(self, ids, positions, sequences, wanted):
        batch = self.batch
        batch.n_tokens = len(ids)
        for i, (token, position, sequence, want) in enumerate(zip(ids, positions, sequences, wanted)):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, position, 1, want
            batch.seq_id[i][0] = sequence
        if self.api.llama_decode(self.context, batch) != 0:
            sys.exit("llama_decode failed")

    def forget(self):
        self.api.llama_memory_clear(self.api.llama_get_memory(self.context), False)

    def generate(self, sequences):
        self.forget()
        ids, all_of = [0] * sequences, range(sequences)
        for position in range(TOKENS):
            self.read(ids, [position] * sequences, all_of, [1] * sequences)
            ids = [int(np.argmax(np.ctypeslib.as_array(self.api.llama_get_logits_ith(self.context, i), (VOCABULARY,))))
                   for i in all_of]

    def prompt(self):
        self.forget()
        self.read([0] * CONTEXT, range(CONTEXT), [0] * CONTEXT, [0] * (CONTEXT - 1) + [1])


# ---- CTranslate2 ----


class CTranslate2:
    FORMATS = {"int8": "int8"}

    @staticmethod
    def version():
        import ctranslate2
        return f"CTranslate2 {ctranslate2.__version__}"

    def __init__(self, folder, dtype, threads, sequences):
        import ctranslate2
        self.write(folder)
        self.model = ctranslate2.Generator(folder, device="cpu", compute_type=self.FORMATS[dtype], intra_threads=threads)

    @staticmethod
    def write(folder):
        from ctranslate2 import specs
        spec = specs.TransformerDecoderModelSpec.from_config(LAYERS, HEADS, pre_norm=True, activation=specs.Activation.GELUTanh)
        decoder = spec.decoder

        def linear(to, rows, columns):
            to.weight, to.bias = weight(rows, columns), np.zeros(rows, np.float32)

        def norm(to):
            to.gamma, to.beta = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)

        decoder.scale_embeddings = False
        decoder.embeddings.weight = decoder.projection.weight = weight(VOCABULARY, WIDTH)
        decoder.position_encodings.encodings = weight(CONTEXT, WIDTH)
        norm(decoder.layer_norm)
        for layer in decoder.layer:
            norm(layer.self_attention.layer_norm)
            linear(layer.self_attention.linear[0], 3 * WIDTH, WIDTH)
            linear(layer.self_attention.linear[1], WIDTH, WIDTH)
            norm(layer.ffn.layer_norm)
            linear(layer.ffn.linear_0, 4 * WIDTH, WIDTH)
            linear(layer.ffn.linear_1, WIDTH, 4 * WIDTH)
        spec.register_vocabulary([str(i) for i in range(VOCABULARY)])
        spec.config.bos_token = spec.config.eos_token = spec.config.unk_token = "0"
        spec.validate()
        spec.optimize(quantization="int8")
        spec.save(folder)

    def run(self, prompts, length):
        found = self.model.generate_batch(prompts, min_length=length, max_length=length, include_prompt_in_result=False)
        assert all(len(one.sequences[0]) == length for one in found)

    def generate(self, sequences):
        self.run([["0"]] * sequences, TOKENS)

    def prompt(self):
        self.run([["0"] * CONTEXT], 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("library", choices=("llama.cpp", "CTranslate2"))
    parser.add_argument("name")
    options = parser.parse_args()
    kind = {"llama.cpp": Llama, "CTranslate2": CTranslate2}[options.library]
    what, dtype, *count = [*options.name.split("/"), ""][:3]
    if what not in ("generate", "prompt") or dtype not in kind.FORMATS:
        return turns.answer({"library": kind.version(), "known": False})
    sequences = int(count[0]) if what == "generate" else 0
    with tempfile.TemporaryDirectory() as folder:
        model = kind(folder, dtype, options.threads, sequences)
    turns.answer({"library": kind.version(), "known": True})
    for line in sys.stdin:
        times, end = [], time.perf_counter() + float(line)
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            model.generate(sequences) if sequences else model.prompt()
            times.append(1e3 * (time.perf_counter() - start))
        turns.answer({"ms": times})


main()
