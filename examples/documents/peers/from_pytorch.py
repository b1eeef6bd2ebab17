"""PyTorch's side of docs/from_pytorch.md; run by hand in a folder of its own, with nn/module/twin in PYTHONPATH."""
import safetensors.torch
import torch
import torch.nn.functional as F
from torch import nn

batches = [(torch.sin((torch.arange(32 * 14 * 14, dtype=torch.float64) + 1000.0 * batch) ** 2).float().reshape(32, 1, 14, 14),
            torch.remainder(torch.arange(32) * (batch + 1), 10)) for batch in range(4)]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8 * 7 * 7, 10)

    def forward(self, image):
        x = F.max_pool2d(F.relu(self.norm(self.conv(image))), 2)
        return self.head(x.flatten(1))

torch.manual_seed(0)
model = Net()
adam = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.ExponentialLR(adam, gamma=0.99)
for x, y in batches:
    adam.zero_grad()
    loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    adam.step()
    schedule.step()
    print(loss.item())
model.eval()
safetensors.torch.save_file(model.state_dict(), "net.safetensors")

x, y = batches[0]
import twin

torch.manual_seed(0)
twin.write("net_twin.safetensors", Net(), [x, y],
           outputs=lambda model, x, y: model(x),
           loss=lambda model, x, y: F.cross_entropy(model(x), y, label_smoothing=0.1),
           optimizer=lambda model: torch.optim.AdamW(model.parameters(), lr=1e-3))
