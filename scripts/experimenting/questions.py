"""The questions of experiments/RESULTS.md: which studies answer each, and with which changes they are asked again."""
from dataclasses import dataclass, field

from . import bounds


@dataclass
class Question:
    title: str
    asked: str  # by whom, in Markdown
    studies: list  # names of files in experiments/
    again: list = field(default_factory=list)  # "STUDY key=value ...": another rate, target, budget or task
    looked: str = "nothing of the outcome"  # what of the outcome was known before the design was fixed
    remark: str = ""  # what no table says
    shows_choices: str = ""  # in which order; then the page says what each variant was tuned to
    needs_data: bool = False
    fresh: bool = True  # asked of other seeds, too
    long: bool = False  # trained only when asked


ARXIV = "https://arxiv.org/abs/"
GITHUB = "https://github.com/"
REFERENCE = "a reference computation of a few seeds at one rate"
LADDER = "GELU, ReLU² and SwiGLU with two to four other runs at each of seven sizes"
ONE_RATE = ("At one rate for all variants, 0.029 at 48 (`tune={} ladder.tuned_at=each train.optimizer.lr=0.029`), ReLU² was worse than GELU at all four sizes, by 1.4 to "
            "3.2 %, and on seeds 500 to 508 at 48 and 64, by 2.7 and 2.0 %; SwiGLU was better at 64, which did not stand there. So seeds 0 to 8 "
            "had been seen at one rate of the grid: read “sure” as suggestive. Seeds 3000 to 3008 are the fresh ones.")
LATER = "nothing of the outcome; the other settings were chosen after it"
RATES = ", and with other rates on the first set, which chose the rate"

AT_64 = "model.d_model=64 model.attention.heads=4 train.steps=321 train.batch_size=24 train.optimizer.lr=0.012"  # by the ladder's rules
DEPTH_AT_68 = """'sweep.zip=[{"model.blocks":[2,1,4,8],"model.d_model":[68,96,48,34],"model.attention.heads":[2,3,2,1]}]' \
train.steps=333 train.batch_size=26 train.optimizer.lr=0.0115"""
DEEP_AT_64 = AT_64.replace("0.012", "0.0095")  # of four blocks

QUESTIONS = [
    Question("Why is the FFN there?", "courses, after [Vaswani et al. 2017](" + ARXIV + "1706.03762)", ["why-ffn"],
             ["why-ffn train.optimizer.lr=0.01", "why-ffn train.steps=300"], "the outcome on both sets of seeds",
             "“Attention alone is linear” holds for weights that do not depend on the input. Softmax weights do: heads weight the two values of a mixed "
             "pair differently, which makes mixed and equal pairs linearly separable. There the FFN adds no ability in principle."),
    Question("Are two linear maps one?", "courses; [TensorFlow Playground](https://playground.tensorflow.org)", ["two-linear-maps"],
             ["two-linear-maps task.name=moons", "two-linear-maps train.optimizer.lr=0.001"], "ceilings of the task"),
    Question("ReLU, GELU or SiLU?", "[Hendrycks and Gimpel 2016](" + ARXIV + "1606.08415), [Shazeer 2020](" + ARXIV + "2002.05202)",
             ["activations", "activations-tuned", "parity-activations", "spiral-activations"],
             ["""activations 'train.target={"metric":"val/accuracy","at_least":0.99}'""", "parity-activations tune={} train.optimizer.lr=0.01", "spiral-activations train.target.at_least=0.99"],
             "XOR: the outcome on both sets of seeds, at another rate and to an accuracy; parity: " + REFERENCE),
    Question("How wide?", "[Vaswani et al. 2017](" + ARXIV + "1706.03762), table 3, row C", ["expansion", "expansion-facts", "expansion-sine"],
             ["expansion-facts train.steps=100", "expansion-sine task.noise=0"],
             "XOR: the outcome on both sets of seeds; of 512 facts four times the width and eight times knew all, so there are 2,048, and of those the outcome with 12 seeds"),
    Question("Is one hidden unit enough for XOR?", "[Artificial Intelligence Stack Exchange 27010](https://ai.stackexchange.com/q/27010)", ["one-unit"],
             ["one-unit train.optimizer.lr=0.1", "one-unit model.d_model=8"],
             remark="“14 of 40”: so many seeds get there. One unit of a monotone activation gives a monotone function of one weighted sum, and none of those has "
             "the same side for 00 and 11 and the other for 01 and 10: one ReLU or tanh cannot represent XOR. One unit that falls and rises can, "
             "and so can two ReLUs or tanhs, which training finds with some seeds only."),
    Question("Gated or plain, at equal parameters?",
             "[Shazeer 2020](" + ARXIV + "2002.05202) for it; [Allen-Zhu and Li 2024](" + ARXIV + "2404.05405) against it at 100 exposures",
             ["facts", "tables/digits"], ["facts train.steps=100"],
             "facts: the outcome on both sets of seeds; 100 exposures: " + REFERENCE, needs_data=True),
    Question("ReLU² or SwiGLU?", "[nanochat](" + GITHUB + "karpathy/nanochat) against [slowrun](" + GITHUB + "qlabs-eng/slowrun/pull/16)", ["texts/relu2-swiglu"],
             ["texts/relu2-swiglu " + AT_64], "the outcome on another text; with the start `torch` both layers at four rates on the first set, and at 0.029 on both; the larger size was added after the outcome of the smaller", long=True),
    Question("A slope below 0 for the square of ReLU?", "[parameter-golf](" + GITHUB + "openai/parameter-golf/pull/535)", ["leaky-relu2"],
             ["leaky-relu2 train.steps=100"], "the outcome with 10 seeds"),
    Question("Dense, or a mixture?", "[megablocks](" + GITHUB + "databricks/megablocks/issues/107), [Wang et al. 2024](" + ARXIV + "2408.15664)", ["clusters", "texts/moe"],
             ["clusters train.steps=500", "texts/moe " + AT_64, "texts/moe train.optimizer.lr=0.029"], "clusters: the outcome on both sets of seeds; mixtures: at a rate of 0.029, on both"),
    Question("Narrow experts, shared experts, decay of a router?", "[Dai et al. 2024](" + ARXIV + "2401.06066), [marin](" + GITHUB + "marin-community/marin/issues/5424)", ["texts/fine-grained", "texts/decay"],
             ["texts/fine-grained " + AT_64, "texts/decay " + AT_64, "texts/fine-grained train.steps=1080"], "nothing of the outcome; 1,080 steps were added after it", long=True),
    Question("One FFN for all blocks?", "[Pires et al. 2023](" + ARXIV + "2309.01826)", ["texts/one-ffn"],
             [], "the outcome on a licence of 35 kB", long=True),
    Question("More hidden layers, a norm within?", "[Gerber 2025](" + ARXIV + "2505.06633), [Wang et al. 2022](" + ARXIV + "2210.06423)", ["hidden-layers"],
             ["hidden-layers model.ffn.activation=relu", "hidden-layers train.steps=100"]),
    Question("How many bits does a parameter hold?", "[Allen-Zhu and Li 2024](" + ARXIV + "2404.05405), [Nichani et al. 2024](" + ARXIV + "2412.06538)", ["capacity"],
             ["capacity train.steps=100"], "the order at one width"),
    Question("Do units die?", "courses, such as [CS231n](https://cs231n.github.io/neural-networks-1/)", ["dead-units", "sparsity"], ["dead-units train.steps=100", "sparsity train.steps=100"], "dead units: the outcome on both sets of seeds; zeros: after 600 steps"),
    Question("Can it fit any function?", "courses, after Cybenko 1989 and Hornik 1991; [Nielsen](http://neuralnetworksanddeeplearning.com/chap4.html)", ["approximation"],
             ["approximation train.optimizer.lr=0.03", "approximation train.steps=16000"], REFERENCE + ", of one period",
             "A ReLU layer of one input makes one more straight piece than it has units. Such pieces, not even joined, reach an R² of "
             + ", ".join(f"{r2:.5f} with {units} units" for units, r2 in bounds.of_sine([4, 8, 16, 32]).items())
             + " at best (a dynamic programme over the validation points). Training does not find all that a layer can represent."),
    Question("Does it learn the rule late?", "[Power et al. 2022](" + ARXIV + "2201.02177), [Gromov 2023](" + ARXIV + "2301.02679)", ["grokking", "grokking-activations"],
             ["grokking-activations task.held_out=0.2"], "with weight decay against without: the outcome on the first set of seeds; the rest: " + REFERENCE),
    Question("Where does the norm go, and how deep?", "[Xiong et al. 2020](" + ARXIV + "2002.04745)", ["norm-depth"], ["norm-depth train.optimizer.lr=0.003"],
             "that eight seeds are too few, so there are ten"),
    Question("Does the optimizer change the verdict?", "[modded-nanogpt](" + GITHUB + "KellerJordan/modded-nanogpt)", ["optimizers"], ["optimizers train.steps=100"], "AdamW: the study facts"),
    Question("Does a learning rate suit another width?", "[Yang et al. 2021](" + ARXIV + "2203.03466), [mup](" + GITHUB + "microsoft/mup/issues/22)", ["rate-transfer"], ["rate-transfer train.steps=100"],
             "coordinates after five steps", "A scaling transfers the rate if both widths choose the same one. The grid tells rates apart that differ by a factor of 3.2.", shows_choices="first for 64 hidden units, then for 512"),
    Question("Do positions change the verdict?", "[Su et al. 2021](" + ARXIV + "2104.09864), [Kazemnejad et al. 2023](" + ARXIV + "2305.19466)", ["texts/positions-ffn"],
             [], "the outcome on a licence of 35 kB; with rotary positions GELU and SwiGLU of question 26, on both sets", long=True),
    Question("A memory, or a dense layer?", "[Lample et al. 2019](" + ARXIV + "1907.05242)", ["memory"], ["memory train.optimizer.lr=0.02"],
             "the outcome on both sets of seeds; the rate was chosen after a look at three of the first"),
    Question("Which tables need it?", "engineers with a table; [Gorishniy et al. 2021](" + ARXIV + "2106.11959)", ["tables/tables", "tables/diabetes", "tables/fashion"], ["tables/tables train.steps=100"],
             "ten splits of each table in " + REFERENCE + "; a fault in the choice among equal rates was mended after a look at both sets", needs_data=True),
    Question("How sparse may it be?", "[Makhzani and Frey 2013](" + ARXIV + "1312.5663), [Song et al. 2024](" + ARXIV + "2406.05955)", ["top-k"], ["top-k train.steps=100"]),
    Question("SwiGLU, or a layer of your own?", "engineers with an idea; SwiGLU is of [Shazeer 2020](" + ARXIV + "2002.05202), maxout of [Goodfellow et al. 2013](" + ARXIV + "1302.4389)", ["own-layer"],
             ["own-layer model.residual=true", "own-layer task.bits=4 train.steps=400"],
             "the outcome on both sets of seeds, with the residual and on four bits, too; the task was chosen because it is small"),
    Question("Norms, positions, SwiGLU: what are they worth?", "[Stanford CS336, assignment 1](" + GITHUB + "stanford-cs336/assignment1-basics)",
             ["texts/cs336-norm", "texts/cs336-positions", "texts/cs336-swiglu"],
             ["texts/cs336-norm train.optimizer.lr=0.0029", "texts/cs336-norm train.optimizer.lr=0.023", "texts/cs336-norm train.steps=1080", *(f"texts/cs336-{what} {DEEP_AT_64}" for what in ("norm", "positions", "swiglu"))],
             "the outcome on a licence of 35 kB; 1,080 steps were added after that of 270", long=True),
    Question("Which activation on novels?", "[Shazeer 2020](" + ARXIV + "2002.05202), table 1; [So et al. 2021](" + ARXIV + "2109.08668)", ["texts/activations"],
             ["texts/activations train.optimizer.lr=0.029", "texts/activations " + AT_64], LADDER + RATES + "; all six at 0.029 on the first two sets",
             "At twice the rate SiLU (2.805) and GELU (2.781) are better than here, the others worse.", long=True),
    Question("Does the order hold at a larger size?", "engineers with a larger model; [marin](" + GITHUB + "marin-community/marin/issues/8096)", ["texts/ladder-text", "texts/ladder-norm"],
             ["texts/ladder-text ladder.values=[48,64] ladder.hold_out=[] tune={} ladder.tuned_at=each train.optimizer.lr=0.0205 seeds=[3000,3001,3002,3003,3004,3005,3006,3007,3008]"],
             LADDER + "; on these seeds, and at 48 and 64 on those from 500 on, the outcome at one rate for all variants; of the norm the outcome of question 29, on other seeds", ONE_RATE,
             fresh=False, long=True),
    Question("Where do the parameters belong?", "[arXiv:2508.17734](" + ARXIV + "2508.17734), [modded-nanogpt](" + GITHUB + "KellerJordan/modded-nanogpt/pull/30)", ["texts/placement", "texts/share"],
             ["texts/placement " + DEEP_AT_64, "texts/share " + AT_64, "texts/share train.optimizer.lr=0.029"], LATER, long=True),
    Question("xIELU, PolyNorm, another slope for ReLU, a norm within?",
             "[Huang and Schlag 2024](" + ARXIV + "2411.13010), [Zhuo et al. 2024](" + ARXIV + "2411.03884), [Horuz et al. 2025](" + ARXIV + "2505.22074)", ["texts/new-activations", "texts/sugar", "texts/leaky-relu2", "texts/norm-within"],
             ["texts/new-activations train.optimizer.lr=0.029", "texts/new-activations " + AT_64, "texts/sugar train.optimizer.lr=0.029", "texts/norm-within train.optimizer.lr=0.029", "texts/norm-within " + AT_64, "texts/norm-within train.steps=1080"],
             "for the norm: `bitnet`, which has one, had led in question 32, and the order of GELU and SwiGLU was known from question 26; for the rest nothing; larger sizes and 1,080 steps were added after the outcome of 48 and 270", long=True),
    Question("Parallel or serial, wider or deeper?", "[modded-nanogpt](" + GITHUB + "KellerJordan/modded-nanogpt/pull/230), [Liu et al. 2024](" + ARXIV + "2402.14905)", ["texts/parallel", "texts/depth"],
             ["texts/parallel " + DEEP_AT_64, "texts/parallel train.optimizer.lr=0.023", "texts/depth " + DEPTH_AT_68], LATER, long=True),
    Question("Biases, starts, dropout: what do they change?",
             "[nanochat](" + GITHUB + "karpathy/nanochat), [slowrun](" + GITHUB + "qlabs-eng/slowrun/pull/16)",
             ["texts/details", "texts/dropout"],
             ["texts/details " + AT_64, "texts/dropout " + AT_64], LATER, long=True),
    Question("Do small sizes decide between layers?", "[Magnusson et al. 2025](" + ARXIV + "2504.11393), of data", ["texts/decision-accuracy"], [], "one seed of some of the layers at another rate",
             remark="With the sets exchanged, small sizes on fresh seeds and the largest on the first: 87, 76 and 89 of 120 pairs at 16, 32 and 48. Two sets of three seeds order "
             "37, 27, 16 and 15 of 120 pairs of one size differently; mere luck would be 60. All layers of a size train at one rate. `bitnet`, ahead at 48 and 64 on both sets, is the layer of BitNet b1.58 with weights in full precision: a gated ReLU² with a norm before the map back.",
             long=True),
]  # fmt: skip
