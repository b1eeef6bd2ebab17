"""Writes pytorch_names.txt: the public names of PyTorch that docs/from_pytorch.md must mention.

Run with PyTorch 2.15: python tests/data/make_pytorch_names.py
Left out: what exists for other devices, quantised, sparse and compiled code, aliases of operators for compilers, and
methods that change a tensor in place.
"""
import inspect
import pathlib
import re

import torch
import torch.nn.functional as F
import torch.optim.lr_scheduler
import torch.utils.data

INTERNAL = re.compile(
    r"_$|_copy$|^(sym|cudnn|miopen|mkldnn|fbgemm|native|quantize|quantized|fake_quantize|q|autocast|unsafe|import|"
    r"has_torch|parse|prepare|rnn|int|profiler|batch_norm)_|^Lazy|"
    r"sparse|csr|csc|bsr|bsc|coo|mkldnn|cuda|quanti[zs]|quant_|fbgemm|autocast|vulkan|anomaly|[wl]_indices$|_values$|grouped_mm|_device$")
ELSEWHERE = set("""
    affine_grid_generator grid_sampler grid_sampler_2d grid_sampler_3d convolution gru gru_cell lstm lstm_cell
    embedding_renorm compile compiled_with_cxx11_abi classproperty dequantize hash_tensor init_num_threads
    is_deterministic_algorithms_warn_only_enabled is_distributed is_inference is_warn_always_enabled
    set_warn_always get_file_path merge_type_from_type_comment norm_except_dim slice_inverse cond while_loop
    thread_safe_generator typename unify_type_list wait dsmm hsmm hspmm smm spmm saddmm sspaddmm symeig
    set_default_tensor_type get_deterministic_debug_mode set_deterministic_debug_mode fused_moving_avg_obs_fake_quant
    choose_qparams_optimized to_dlpack get_device_module get_autocast_dtype clear_autocast_cache
    coalesce cdouble cfloat chalf cpu ipu xpu mtia dense_dim is_coalesced record_stream indices values
    row_indices storage_type to_dense to_padded_tensor untyped_storage
    Container Module DataParallel NLLLoss2d RNNBase RNNCellBase UninitializedBuffer LinearCrossEntropyOptions Callable
    DType Optional ScalingType SwizzleType assert_int_or_pair boolean_dispatch handle_torch_function
    scaled_mm scaled_grouped_mm scaled_addmm LinAlgError Any Counter SupportsFloat Tensor partial ref Optimizer
    debug_unwrap functionalize rearrange replace_all_batch_norm_modules_ Literal ParamSpec TypeVar
    DFIterDataPipe DataChunk IterDataPipe MapDataPipe argument_validation functional_datapipe get_worker_info
    guaranteed_datapipes_determinism non_deterministic runtime_validation runtime_validation_disabled
    fork qscheme indices index new new_empty_strided is_inference_mode_enabled lu_factor_ex ldl_factor_ex fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices
    adaptive_max_pool3d_with_indices max_pool3d_with_indices bartlett""".split())


def names(module, wanted):
    for name in sorted(dir(module)):
        thing = getattr(module, name, None)
        if name.startswith("_") or not wanted(thing) or INTERNAL.search(name) or name in ELSEWHERE:
            continue
        yield name


def function(thing):
    return callable(thing) and not inspect.isclass(thing)


MODULES = [("torch", torch, function), ("Tensor", torch.Tensor, callable), ("nn", torch.nn, inspect.isclass),
           ("F", F, function), ("linalg", torch.linalg, function), ("optim", torch.optim, inspect.isclass),
           ("lr_scheduler", torch.optim.lr_scheduler, inspect.isclass), ("func", torch.func, callable),
           ("utils.data", torch.utils.data, callable)]
found = [f"{prefix}.{name}" for prefix, module, wanted in MODULES for name in names(module, wanted)]
known = {name.split(".", 1)[1] for name in found if name.startswith("torch.")}
found = [name for name in found if not name.startswith(("Tensor.", "F.")) or name.split(".", 1)[1] not in known]
pathlib.Path(__file__).with_name("pytorch_names.txt").write_text("\n".join(found) + "\n")
