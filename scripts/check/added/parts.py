"""The parts of an addition to ffn-train: text for an existing file, or a new file."""
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Part:
    """`text` in `path`: before or after the one place where the anchor stands, or the whole of a new file.

    forgotten: (what to try, what it says) when this part alone is left out. To try: a source file to compile, "golden", or
    a target to build and what to run then: "test_train: NAME OF THE CASE", "ffn-train: TESTS OF tests/cli/test_commands.py";
    "test_python.py: TESTS" runs those of tests/cli.
    """
    path: str
    text: str
    before: str = ""
    after: str = ""
    forgotten: tuple = ()

    def apply(self, root):
        file = Path(root, self.path)
        if not self.before and not self.after:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.text)
            return
        anchor = self.before or self.after
        content = file.read_text()
        if content.count(anchor) != 1:
            raise SystemExit(f"check/additions: {self.path} has {content.count(anchor)} places like this, not one:\n{anchor}")
        both = self.text + anchor if self.before else anchor + self.text
        file.write_text(content.replace(anchor, both))

    def without(self, root):
        """The file's content without this part."""
        content = Path(root, self.path).read_text()
        assert content.count(self.text) == 1, (self.path, self.text)
        return content.replace(self.text, "")
