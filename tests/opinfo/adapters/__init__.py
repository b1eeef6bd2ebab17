"""For each op of PyTorch's op_db: how tapegrad expresses a call of it. An adapter has PyTorch's signature and returns a
Call, or raises Skip with the option that tapegrad does not have."""
from adapters import elementwise, reduce, order, product, shape, index, create, nn, loss, image, more  # noqa: F401
from adapters import composed, composed_reduce, composed_nn  # noqa: F401
from adapters.registry import ADAPTERS, COMPOSED, RANDOM, adapter_of, key_of, listed, need, spatial  # noqa: F401
