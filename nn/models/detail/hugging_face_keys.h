// The keys that transformers writes into the config.json of every model, none of which changes what a model computes:
// notes about files, and settings of training, of other tasks and of generation, which options decide here.
#pragma once

#include <tapegrad/autograd/io/internal/known_keys.h>

namespace tapegrad::nn {

inline constexpr std::string_view kReadOfAnyModel = "model_type vocab_size tie_word_embeddings eos_token_id";
inline constexpr std::string_view kHarmlessOfAnyModel =
    // files and software
    "architectures auto_map attn_implementation dtype name_or_path tokenizer_class torch_dtype torchscript "
    "transformers.js_config transformers_version unsloth_fixed unsloth_version use_bfloat16 "
    // what a call returns, and how it is computed
    "output_attentions output_hidden_states output_scores return_dict return_dict_in_generate use_cache "
    "chunk_size_feed_forward gradient_checkpointing is_decoder tf_legacy_loss "
    // classifiers and other tasks
    "finetuning_task id2label label2id num_labels problem_type task_specific_params "
    // tokens
    "bos_token_id decoder_start_token_id pad_token_id sep_token_id max_sequence_length "
    // training
    "initializer_range "
    // generation
    "bad_words_ids begin_suppress_tokens diversity_penalty do_sample early_stopping encoder_no_repeat_ngram_size "
    "length_penalty max_length max_new_tokens min_length no_repeat_ngram_size num_beam_groups num_beams "
    "num_return_sequences remove_invalid_values repetition_penalty suppress_tokens temperature top_k top_p typical_p";
inline constexpr std::string_view kAtDefaultsOfAnyModel =
    "add_cross_attention=false is_encoder_decoder=false pruned_heads={} tie_encoder_decoder=false";
inline constexpr json::KnownKeys kKeysOfAnyModel{kReadOfAnyModel, kHarmlessOfAnyModel, kAtDefaultsOfAnyModel};

}  // namespace tapegrad::nn
