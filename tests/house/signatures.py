"""Tests of docs/signatures.py: python3 tests/house/signatures.py"""
import pathlib
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "docs"))
import signatures  # noqa: E402

ID = "a" + "0" * 32
FUNCTION = f"""<doxygen><compounddef id="namespacetapegrad" kind="namespace"><compoundname>tapegrad</compoundname><sectiondef>
<memberdef kind="function" id="losses_8h_1{ID}" prot="public"><type>Tensor</type><name>mse_loss</name>
<argsstring>(const Tensor &amp;x, std::vector&lt; int &gt; y={{}})</argsstring><location file="autograd/ops/loss/losses.h"/></memberdef>
</sectiondef></compounddef></doxygen>"""
CLASS = f"""<doxygen><compounddef id="structtapegrad_1_1nn_1_1Linear" kind="struct"><compoundname>tapegrad::nn::Linear</compoundname>
<location file="nn/layers/linear.h"/><sectiondef><memberdef kind="variable" id="structtapegrad_1_1nn_1_1Linear_1{ID}" prot="public">
<type>Parameter</type><name>weight</name><location file="nn/layers/linear.h"/></memberdef>
<memberdef kind="function" id="structtapegrad_1_1nn_1_1Linear_1{ID}" prot="private"><type>void</type><name>hidden</name>
<argsstring>()</argsstring><location file="nn/layers/linear.h"/></memberdef></sectiondef></compounddef></doxygen>"""


class Signatures(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        xml = pathlib.Path(self.folder.name)
        (xml / "namespacetapegrad.xml").write_text(FUNCTION)
        (xml / "structtapegrad_1_1nn_1_1Linear.xml").write_text(CLASS)
        self.found = signatures.declarations(TOP, xml)

    def page(self, line):
        return signatures.page(f"| PyTorch | here | differences |\n|---|---|---|\n{line}\n", self.found)

    def test_headers_are_those_of_a_user(self):
        self.assertEqual(signatures.included_as("autograd/ops/loss/losses.h"), "<tapegrad/autograd/losses.h>")
        self.assertEqual(signatures.included_as("autograd/io/bits.h"), "<tapegrad/autograd/io/bits.h>")
        self.assertEqual(signatures.included_as("distributed/world.h"), "<tapegrad/distributed/world.h>")

    def test_a_function(self):
        text, missing = self.page("| `F.mse_loss` | `mse_loss` | |")
        self.assertEqual(missing, [])
        self.assertIn("<code>&lt;tapegrad/autograd/losses.h&gt;</code>", text)
        self.assertIn(f'href="losses_8h.html#{ID}"', text)
        self.assertIn("Tensor mse_loss(const Tensor&amp; x, std::vector&lt;int&gt; y={})", text)

    def test_a_class_and_its_members(self):
        text, missing = self.page("| `nn.Linear` | `nn::Linear`, `nn::Linear::weight` | |")
        self.assertEqual(missing, [])
        self.assertIn("struct Linear", text)
        self.assertIn("Parameter weight", text)

    def test_what_is_not_declared_is_reported(self):
        self.assertEqual(self.page("| `a` | `mse_los`, `nn::Linear::hidden`, `mse_loss` | |")[1], ["mse_los", "nn::Linear::hidden"])
        self.assertEqual(self.page("| `a` | not here | `celu(x)` |")[1], [])


if __name__ == "__main__":
    unittest.main()
