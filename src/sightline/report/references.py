"""What a report cites: one table of works, as BibTeX and as lines to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CITED_BY_METHODS", "CITED_BY_METRICS", "REFERENCES", "Reference", "bibtex"]


class Reference(NamedTuple):
    """A work.

    Attributes
    ----------
    kind
        Of the entry: article, inproceedings, book, misc.
    authors
        Family name first, separated by " and ".
    title
        Words in braces keep their letters.
    year
        Of publication.
    where
        Journal, proceedings or publisher.
    more
        Other fields: volume, number, pages, eprint.
    """

    kind: str
    authors: str
    title: str
    year: int
    where: str
    more: tuple[tuple[str, str], ...] = ()

    @property
    def families(self) -> list[str]:
        """Family names of the authors."""
        return [one.partition(",")[0] for one in self.authors.split(" and ")]

    @property
    def text(self) -> str:
        """The work as a line of a list.

        Examples
        --------
        >>> REFERENCES["fisher1935"].text
        'Fisher, Ronald A. (1935). The Design of Experiments. Oliver and Boyd.'
        """
        names = self.authors.split(" and ")
        who = names[0] if len(names) == 1 else f"{'; '.join(names[:-1])} & {names[-1]}"
        title = self.title.replace("{", "").replace("}", "")
        more = dict(self.more)
        place = self.where
        if "volume" in more:
            number = f"({more['number']})" if "number" in more else ""
            place += f" {more['volume']}{number}"
        if "pages" in more:
            place += f", {more['pages'].replace('--', '–')}"
        eprint = f" arXiv:{more['eprint']}." if "eprint" in more else ""
        place = f" {place}." if place else ""
        end = "" if title.endswith("?") else "."
        return f"{who} ({self.year}). {title}{end}{place}{eprint}"

    def entry(self, key: str) -> str:
        """Return the BibTeX entry."""
        place = {"article": "journal", "inproceedings": "booktitle", "book": "publisher"}
        fields = {"author": self.authors, "title": self.title, "year": str(self.year)}
        if self.where:
            fields[place.get(self.kind, "howpublished")] = self.where
        fields |= dict(self.more)
        if "eprint" in fields:
            fields["archiveprefix"] = "arXiv"
        lines = [f"  {name} = {{{_tex(value)}}}," for name, value in fields.items()]
        return "\n".join([f"@{self.kind}{{{key},", *lines, "}"])


_TEX = {
    "ü": '{\\"u}',
    "é": "{\\'e}",
    "á": "{\\'a}",
    "ç": "{\\c c}",
    "–": "--",
    "…": "{\\ldots}",
    "&": "\\&",
}


def _tex(text: str) -> str:
    for sign, written in _TEX.items():
        text = text.replace(sign, written)
    return text


def bibtex(keys: Iterable[str] | None = None) -> str:
    """Return works as the content of a .bib file, in the order of their keys.

    Parameters
    ----------
    keys
        Which; all unless given.

    Examples
    --------
    >>> print(bibtex(["holm1979"]).splitlines()[0])
    @article{holm1979,
    """
    wanted = sorted(set(REFERENCES if keys is None else keys))
    return "\n\n".join(REFERENCES[key].entry(key) for key in wanted) + "\n"


def _pages(pages: str, volume: str = "", number: str = "", eprint: str = "") -> tuple[
    tuple[str, str], ...
]:  # fmt: skip
    fields = {"volume": volume, "number": number, "pages": pages, "eprint": eprint}
    return tuple((name, value) for name, value in fields.items() if value)


def _arxiv(number: str) -> tuple[tuple[str, str], ...]:
    return (("eprint", number),)


def _doi(number: str) -> tuple[tuple[str, str], ...]:
    return (("doi", number),)


_CVPR = "IEEE/CVF Conference on Computer Vision and Pattern Recognition"
_ICCV = "IEEE/CVF International Conference on Computer Vision"
_ICML = "International Conference on Machine Learning"
_IJCV = "International Journal of Computer Vision"
_JASA = "Journal of the American Statistical Association"
_BMVC = "British Machine Vision Conference"
_NEURIPS = "Advances in Neural Information Processing Systems"
_PAMI = "IEEE Transactions on Pattern Analysis and Machine Intelligence"
_WACV = "IEEE/CVF Winter Conference on Applications of Computer Vision"
_ACL = "Annual Meeting of the Association for Computational Linguistics"

REFERENCES: dict[str, Reference] = {
    "abnar2020": Reference(
        "inproceedings", "Abnar, Samira and Zuidema, Willem",
        "Quantifying Attention Flow in Transformers", 2020, _ACL, _arxiv("2005.00928"),
    ),
    "achanta2012": Reference(
        "article", "Achanta, Radhakrishna and Shaji, Appu and Smith, Kevin and "
        "Lucchi, Aurelien and Fua, Pascal and Süsstrunk, Sabine",
        "{SLIC} Superpixels Compared to State-of-the-Art Superpixel Methods", 2012, _PAMI,
        _pages("2274--2282", "34", "11"),
    ),
    "adebayo2018": Reference(
        "inproceedings",
        "Adebayo, Julius and Gilmer, Justin and Muelly, Michael and Goodfellow, Ian and "
        "Hardt, Moritz and Kim, Been",
        "Sanity Checks for Saliency Maps", 2018, _NEURIPS, _arxiv("1810.03292"),
    ),
    "arras2022": Reference(
        "article", "Arras, Leila and Osman, Ahmed and Samek, Wojciech",
        "{CLEVR-XAI}: A Benchmark Dataset for the Ground Truth Evaluation of Neural Network "
        "Explanations", 2022, "Information Fusion", _pages("14--40", "81", "", "2003.07258"),
    ),
    "bach2015": Reference(
        "article", "Bach, Sebastian and Binder, Alexander and Montavon, Grégoire and "
        "Klauschen, Frederick and Müller, Klaus-Robert and Samek, Wojciech",
        "On Pixel-Wise Explanations for Non-Linear Classifier Decisions by Layer-Wise Relevance "
        "Propagation", 2015, "PLOS ONE", _pages("e0130140", "10", "7"),
    ),
    "bhatt2020": Reference(
        "inproceedings", "Bhatt, Umang and Weller, Adrian and Moura, José M. F.",
        "Evaluating and Aggregating Feature-based Model Explanations", 2020,
        "International Joint Conference on Artificial Intelligence", _arxiv("2005.00631"),
    ),
    "binder2023": Reference(
        "inproceedings", "Binder, Alexander and Weber, Leander and Lapuschkin, Sebastian and "
        "Montavon, Grégoire and Müller, Klaus-Robert and Samek, Wojciech",
        "Shortcomings of Top-Down Randomization-Based Sanity Checks for Evaluations of Deep "
        "Neural Network Explanations", 2023, _CVPR, _arxiv("2211.12486"),
    ),
    "brin1997": Reference(
        "inproceedings",
        "Brin, Sergey and Motwani, Rajeev and Ullman, Jeffrey D. and Tsur, Shalom",
        "Dynamic Itemset Counting and Implication Rules for Market Basket Data", 1997,
        "ACM SIGMOD International Conference on Management of Data", _pages("255--264"),
    ),
    "buckley2000": Reference(
        "inproceedings", "Buckley, Chris and Voorhees, Ellen M.",
        "Evaluating Evaluation Measure Stability", 2000,
        "ACM SIGIR Conference on Research and Development in Information Retrieval",
        _pages("33--40"),
    ),
    "bylinskii2018": Reference(
        "article",
        "Bylinskii, Zoya and Judd, Tilke and Oliva, Aude and Torralba, Antonio and "
        "Durand, Frédo", "What Do Different Evaluation Metrics Tell Us About Saliency "
        "Models?", 2018, _PAMI,
        _pages("740--757", "41", "3", "1604.03605"),
    ),
    "caron2021": Reference(
        "inproceedings",
        "Caron, Mathilde and Touvron, Hugo and Misra, Ishan and Jégou, Hervé and Mairal, Julien "
        "and Bojanowski, Piotr and Joulin, Armand",
        "Emerging Properties in Self-Supervised Vision Transformers", 2021, _ICCV,
        _arxiv("2104.14294"),
    ),
    "chalasani2020": Reference(
        "inproceedings",
        "Chalasani, Prasad and Chen, Jiefeng and Chowdhury, Amrita Roy and Wu, Xi and Jha, Somesh",
        "Concise Explanations of Neural Networks using Adversarial Training", 2020, _ICML,
        _arxiv("1810.06583"),
    ),
    "chattopadhyay2018": Reference(
        "inproceedings", "Chattopadhyay, Aditya and Sarkar, Anirban and Howlader, Prantik and "
        "Balasubramanian, Vineeth N.", "{Grad-CAM++}: Improved Visual Explanations for Deep "
        "Convolutional Networks", 2018, _WACV, _arxiv("1710.11063"),
    ),
    "chefer2021generic": Reference(
        "inproceedings", "Chefer, Hila and Gur, Shir and Wolf, Lior",
        "Generic Attention-model Explainability for Interpreting Bi-Modal and Encoder-Decoder "
        "Transformers", 2021, _ICCV, _arxiv("2103.15679"),
    ),
    "chefer2021transformer": Reference(
        "inproceedings", "Chefer, Hila and Gur, Shir and Wolf, Lior",
        "Transformer Interpretability Beyond Attention Visualization", 2021, _CVPR,
        _arxiv("2012.09838"),
    ),
    "chen2019": Reference(
        "inproceedings", "Chen, Chaofan and Li, Oscar and Tao, Daniel and Barnett, Alina and "
        "Rudin, Cynthia and Su, Jonathan K.",
        "This Looks Like That: Deep Learning for Interpretable Image Recognition", 2019, _NEURIPS,
        _arxiv("1806.10574"),
    ),
    "choe2020": Reference(
        "inproceedings",
        "Choe, Junsuk and Oh, Seong Joon and Lee, Seungho and Chun, Sanghyuk and Akata, Zeynep "
        "and Shim, Hyunjung", "Evaluating Weakly Supervised Object Localization Methods Right",
        2020, _CVPR, _arxiv("2001.07437"),
    ),
    "dalal2005": Reference(
        "inproceedings", "Dalal, Navneet and Triggs, Bill",
        "Histograms of Oriented Gradients for Human Detection", 2005, _CVPR, _pages("886--893"),
    ),
    "desai2020": Reference(
        "inproceedings", "Desai, Saurabh and Ramaswamy, Harish G.",
        "{Ablation-CAM}: Visual Explanations for Deep Convolutional Network via Gradient-free "
        "Localization", 2020, _WACV, _doi("10.1109/WACV45572.2020.9093360"),
    ),
    "deselaers2012": Reference(
        "article", "Deselaers, Thomas and Alexe, Bogdan and Ferrari, Vittorio",
        "Weakly Supervised Localization and Learning with Generic Knowledge", 2012, _IJCV,
        _pages("275--293", "100", "3"),
    ),
    "dice1945": Reference(
        "article", "Dice, Lee R.", "Measures of the Amount of Ecologic Association Between "
        "Species", 1945, "Ecology", _pages("297--302", "26", "3"),
    ),
    "draelos2020": Reference(
        "misc", "Draelos, Rachel Lea and Carin, Lawrence", "Use {HiResCAM} instead of {Grad-CAM} "
        "for Faithful Explanations of Convolutional Neural Networks", 2020, "",
        _arxiv("2011.08891"),
    ),
    "efron1987": Reference(
        "article", "Efron, Bradley", "Better Bootstrap Confidence Intervals", 1987, _JASA,
        _pages("171--185", "82", "397"),
    ),
    "efron1993": Reference(
        "book", "Efron, Bradley and Tibshirani, Robert J.", "An Introduction to the Bootstrap",
        1993, "Chapman & Hall",
    ),
    "everingham2010": Reference(
        "article",
        "Everingham, Mark and Van Gool, Luc and Williams, Christopher K. I. and Winn, John and "
        "Zisserman, Andrew", "The {Pascal} Visual Object Classes ({VOC}) Challenge", 2010, _IJCV,
        _pages("303--338", "88", "2"),
    ),
    "fawcett2006": Reference(
        "article", "Fawcett, Tom", "An Introduction to {ROC} Analysis", 2006,
        "Pattern Recognition Letters", _pages("861--874", "27", "8"),
    ),
    "fisher1935": Reference(
        "book", "Fisher, Ronald A.", "The Design of Experiments", 1935, "Oliver and Boyd",
    ),
    "fu2020": Reference(
        "inproceedings", "Fu, Ruigang and Hu, Qingyong and Dong, Xiaohu and Guo, Yulan and "
        "Gao, Yinghui and Li, Biao", "Axiom-based {Grad-CAM}: Towards Accurate Visualization and "
        "Explanation of {CNNs}", 2020, _BMVC, _arxiv("2008.02312"),
    ),
    "holm1979": Reference(
        "article", "Holm, Sture", "A Simple Sequentially Rejective Multiple Test Procedure", 1979,
        "Scandinavian Journal of Statistics", _pages("65--70", "6", "2"),
    ),
    "hoyer2004": Reference(
        "article", "Hoyer, Patrik O.",
        "Non-negative Matrix Factorization with Sparseness Constraints", 2004,
        "Journal of Machine Learning Research", _pages("1457--1469", "5"),
    ),
    "jaccard1912": Reference(
        "article", "Jaccard, Paul", "The Distribution of the Flora in the Alpine Zone", 1912,
        "New Phytologist", _pages("37--50", "11", "2"),
    ),
    "jacovi2020": Reference(
        "inproceedings", "Jacovi, Alon and Goldberg, Yoav",
        "Towards Faithfully Interpretable {NLP} Systems: How Should We Define and Evaluate "
        "Faithfulness?", 2020, _ACL, _arxiv("2004.03685"),
    ),
    "jiang2021": Reference(
        "article", "Jiang, Peng-Tao and Zhang, Chang-Bin and Hou, Qibin and Cheng, Ming-Ming and "
        "Wei, Yunchao", "{LayerCAM}: Exploring Hierarchical Class Activation Maps for "
        "Localization", 2021, "IEEE Transactions on Image Processing",
        (*_pages("5875--5888", "30"), *_doi("10.1109/TIP.2021.3089943")),
    ),
    "judd2009": Reference(
        "inproceedings", "Judd, Tilke and Ehinger, Krista and Durand, Frédo and "
        "Torralba, Antonio", "Learning to Predict Where Humans Look", 2009,
        "IEEE International Conference on Computer Vision",
    ),
    "kokhlikyan2020": Reference(
        "misc",
        "Kokhlikyan, Narine and Miglani, Vivek and Martin, Miguel and Wang, Edward and "
        "Alsallakh, Bilal and Reynolds, Jonathan and Melnikov, Alexander and Kliushkina, Natalia "
        "and Araya, Carlos and Yan, Siqi and Reblitz-Richardson, Orion",
        "Captum: A Unified and Generic Model Interpretability Library for {PyTorch}", 2020, "",
        _arxiv("2009.07896"),
    ),
    "kuemmerer2015": Reference(
        "article", "Kümmerer, Matthias and Wallis, Thomas S. A. and Bethge, Matthias",
        "Information-theoretic Model Comparison Unifies Saliency Metrics", 2015,
        "Proceedings of the National Academy of Sciences", _pages("16054--16059", "112", "52"),
    ),
    "lin2014": Reference(
        "inproceedings",
        "Lin, Tsung-Yi and Maire, Michael and Belongie, Serge and Hays, James and Perona, Pietro "
        "and Ramanan, Deva and Dollár, Piotr and Zitnick, C. Lawrence",
        "{Microsoft COCO}: Common Objects in Context", 2014,
        "European Conference on Computer Vision", _arxiv("1405.0312"),
    ),
    "lundberg2017": Reference(
        "inproceedings", "Lundberg, Scott M. and Lee, Su-In",
        "A Unified Approach to Interpreting Model Predictions", 2017, _NEURIPS,
        _arxiv("1705.07874"),
    ),
    "montavon2017": Reference(
        "article", "Montavon, Grégoire and Lapuschkin, Sebastian and Binder, Alexander and "
        "Samek, Wojciech and Müller, Klaus-Robert", "Explaining Nonlinear Classification "
        "Decisions with Deep {Taylor} Decomposition", 2017, "Pattern Recognition",
        _pages("211--222", "65", "", "1512.02479"),
    ),
    "muhammad2020": Reference(
        "inproceedings", "Muhammad, Mohammed Bany and Yeasin, Mohammed",
        "{Eigen-CAM}: Class Activation Map using Principal Components", 2020,
        "International Joint Conference on Neural Networks", _arxiv("2008.00299"),
    ),
    "nauta2021": Reference(
        "inproceedings", "Nauta, Meike and Jutte, Annemarie and Provoost, Jesper and "
        "Seifert, Christin", "This Looks Like That, Because … Explaining Prototypes for "
        "Interpretable Image Recognition", 2021, "ECML PKDD Workshops", _arxiv("2011.02863"),
    ),
    "petsiuk2018": Reference(
        "inproceedings", "Petsiuk, Vitali and Das, Abir and Saenko, Kate",
        "{RISE}: Randomized Input Sampling for Explanation of Black-box Models", 2018, _BMVC,
        _arxiv("1806.07421"),
    ),
    "petsiuk2021": Reference(
        "inproceedings",
        "Petsiuk, Vitali and Jain, Rajiv and Manjunatha, Varun and Morariu, Vlad I. and "
        "Mehra, Ashutosh and Ordonez, Vicente and Saenko, Kate",
        "Black-box Explanation of Object Detectors via Saliency Maps", 2021, _CVPR,
        _arxiv("2006.03204"),
    ),
    "ribeiro2016": Reference(
        "inproceedings", "Ribeiro, Marco Tulio and Singh, Sameer and Guestrin, Carlos",
        '"Why Should {I} Trust You?": Explaining the Predictions of Any Classifier', 2016,
        "ACM SIGKDD International Conference on Knowledge Discovery and Data Mining",
        _arxiv("1602.04938"),
    ),
    "rong2022": Reference(
        "inproceedings", "Rong, Yao and Leemann, Tobias and Borisov, Vadim and "
        "Kasneci, Gjergji and Kasneci, Enkelejda", "A Consistent and Efficient Evaluation "
        "Strategy for Attribution Methods", 2022, _ICML, _arxiv("2202.00449"),
    ),
    "rubner2000": Reference(
        "article", "Rubner, Yossi and Tomasi, Carlo and Guibas, Leonidas J.",
        "The Earth Mover's Distance as a Metric for Image Retrieval", 2000, _IJCV,
        _pages("99--121", "40", "2"),
    ),
    "samek2017": Reference(
        "article", "Samek, Wojciech and Binder, Alexander and Montavon, Grégoire and "
        "Lapuschkin, Sebastian and Müller, Klaus-Robert", "Evaluating the Visualization of What a "
        "Deep Neural Network Has Learned", 2017,
        "IEEE Transactions on Neural Networks and Learning Systems",
        _pages("2660--2673", "28", "11", "1509.06321"),
    ),
    "selvaraju2017": Reference(
        "inproceedings",
        "Selvaraju, Ramprasaath R. and Cogswell, Michael and Das, Abhishek and "
        "Vedantam, Ramakrishna and Parikh, Devi and Batra, Dhruv",
        "{Grad-CAM}: Visual Explanations from Deep Networks via Gradient-based Localization",
        2017, "IEEE International Conference on Computer Vision", _arxiv("1610.02391"),
    ),
    "shrikumar2017": Reference(
        "misc", "Shrikumar, Avanti and Greenside, Peyton and Shcherbina, Anna and "
        "Kundaje, Anshul", "Not Just a Black Box: Learning Important Features Through Propagating "
        "Activation Differences", 2017, "", _arxiv("1605.01713"),
    ),
    "shrikumar2017deeplift": Reference(
        "inproceedings", "Shrikumar, Avanti and Greenside, Peyton and Kundaje, Anshul",
        "Learning Important Features Through Propagating Activation Differences", 2017, _ICML,
        _arxiv("1704.02685"),
    ),
    "simonyan2014": Reference(
        "inproceedings", "Simonyan, Karen and Vedaldi, Andrea and Zisserman, Andrew",
        "Deep Inside Convolutional Networks: Visualising Image Classification Models and Saliency "
        "Maps", 2014, "International Conference on Learning Representations, Workshop",
        _arxiv("1312.6034"),
    ),
    "sixt2020": Reference(
        "inproceedings", "Sixt, Leon and Granz, Maximilian and Landgraf, Tim",
        "When Explanations Lie: Why Many Modified {BP} Attributions Fail", 2020, _ICML,
        _arxiv("1912.09818"),
    ),
    "smilkov2017": Reference(
        "misc", "Smilkov, Daniel and Thorat, Nikhil and Kim, Been and Viégas, Fernanda and "
        "Wattenberg, Martin", "{SmoothGrad}: Removing Noise by Adding Noise", 2017, "",
        _arxiv("1706.03825"),
    ),
    "springenberg2015": Reference(
        "inproceedings", "Springenberg, Jost Tobias and Dosovitskiy, Alexey and Brox, Thomas and "
        "Riedmiller, Martin", "Striving for Simplicity: The All Convolutional Net", 2015,
        "International Conference on Learning Representations, Workshop", _arxiv("1412.6806"),
    ),
    "srinivas2019": Reference(
        "inproceedings", "Srinivas, Suraj and Fleuret, François",
        "Full-Gradient Representation for Neural Network Visualization", 2019, _NEURIPS,
        _arxiv("1905.00780"),
    ),
    "sundararajan2017": Reference(
        "inproceedings", "Sundararajan, Mukund and Taly, Ankur and Yan, Qiqi",
        "Axiomatic Attribution for Deep Networks", 2017, _ICML, _arxiv("1703.01365"),
    ),
    "vanrijsbergen1979": Reference(
        "book", "van Rijsbergen, C. J.", "Information Retrieval", 1979, "Butterworths",
    ),
    "wang2004": Reference(
        "article", "Wang, Zhou and Bovik, Alan C. and Sheikh, Hamid R. and Simoncelli, Eero P.",
        "Image Quality Assessment: From Error Visibility to Structural Similarity", 2004,
        "IEEE Transactions on Image Processing", _pages("600--612", "13", "4"),
    ),
    "wang2020": Reference(
        "inproceedings",
        "Wang, Haofan and Wang, Zifan and Du, Mengnan and Yang, Fan and Zhang, Zijian and "
        "Ding, Sirui and Mardziel, Piotr and Hu, Xia",
        "{Score-CAM}: Score-Weighted Visual Explanations for Convolutional Neural Networks", 2020,
        f"{_CVPR} Workshops", _arxiv("1910.01279"),
    ),
    "wilson1927": Reference(
        "article", "Wilson, Edwin B.",
        "Probable Inference, the Law of Succession, and Statistical Inference", 1927, _JASA,
        _pages("209--212", "22", "158"),
    ),
    "xudarme2023": Reference(
        "inproceedings", "Xu-Darme, Romain and Quénot, Georges and Chihani, Zakaria and "
        "Rousset, Marie-Christine",
        "Sanity Checks for Patch Visualisation in Prototype-Based Image Classification", 2023,
        f"{_CVPR} Workshops", _arxiv("2311.16120"),
    ),
    "yeh2019": Reference(
        "inproceedings", "Yeh, Chih-Kuan and Hsieh, Cheng-Yu and Suggala, Arun Sai and "
        "Inouye, David I. and Ravikumar, Pradeep",
        "On the (In)fidelity and Sensitivity of Explanations", 2019, _NEURIPS,
        _arxiv("1901.09392"),
    ),
    "zeiler2014": Reference(
        "inproceedings", "Zeiler, Matthew D. and Fergus, Rob",
        "Visualizing and Understanding Convolutional Networks", 2014,
        "European Conference on Computer Vision", _arxiv("1311.2901"),
    ),
    "zhai2023": Reference(
        "inproceedings",
        "Zhai, Xiaohua and Mustafa, Basil and Kolesnikov, Alexander and Beyer, Lucas",
        "Sigmoid Loss for Language Image Pre-Training", 2023, _ICCV, _arxiv("2303.15343"),
    ),
    "zhang2008": Reference(
        "article", "Zhang, Lingyun and Tong, Matthew H. and Marks, Tim K. and Shan, Honghao and "
        "Cottrell, Garrison W.", "{SUN}: A {Bayesian} Framework for Saliency Using Natural "
        "Statistics", 2008, "Journal of Vision", _pages("32", "8", "7"),
    ),
    "zhang2016": Reference(
        "inproceedings",
        "Zhang, Jianming and Lin, Zhe and Brandt, Jonathan and Shen, Xiaohui and Sclaroff, Stan",
        "Top-Down Neural Attention by Excitation Backprop", 2016,
        "European Conference on Computer Vision", _arxiv("1608.00507"),
    ),
    "zhou2016": Reference(
        "inproceedings", "Zhou, Bolei and Khosla, Aditya and Lapedriza, Agata and Oliva, Aude and "
        "Torralba, Antonio", "Learning Deep Features for Discriminative Localization", 2016,
        "IEEE Conference on Computer Vision and Pattern Recognition", _arxiv("1512.04150"),
    ),
}  # fmt: skip

CITED_BY_METRICS: dict[str, tuple[str, ...]] = {
    "coverage": ("wang2020",),
    "average_precision": ("buckley2000",),
    "iou": ("jaccard1912", "everingham2010"),
    "dice": ("dice1945",),
    "precision": ("vanrijsbergen1979",),
    "recall": ("vanrijsbergen1979",),
    "lift": ("brin1997",),
    "pointing": ("zhang2016",),
    "top_k_pointing": ("zhang2016",),
    "top_k_any": ("zhang2016",),
    "auc_roc": ("fawcett2006",),
    "relevance_rank": ("arras2022",),
    "best_iou": ("choe2020",),
    "nss": ("bylinskii2018",),
    "cc": ("bylinskii2018",),
    "sim": ("bylinskii2018",),
    "kl": ("bylinskii2018",),
    "information_gain": ("kuemmerer2015",),
    "auc_judd": ("judd2009", "bylinskii2018"),
    "shuffled_auc": ("zhang2008", "bylinskii2018"),
    "emd": ("rubner2000",),
    "corloc": ("deselaers2012",),
    "max_box_acc": ("choe2020",),
    "pxap": ("choe2020",),
    "entropy": ("bhatt2020",),
    "gini": ("chalasani2020",),
    "sparsity": ("hoyer2004",),
}
"""Works behind metrics, by their names."""

CITED_BY_METHODS: dict[str, tuple[str, ...]] = {
    "cls": ("caron2021",),
    "pool": ("zhai2023",),
    "rollout": ("abnar2020",),
    "grad_attention": ("chefer2021transformer",),
    "grad_rollout": ("chefer2021generic",),
    "gradcam": ("selvaraju2017",),
    "saliency": ("simonyan2014",),
    "input_x_gradient": ("shrikumar2017",),
    "integrated_gradients": ("sundararajan2017", "kokhlikyan2020"),
    "smoothgrad": ("smilkov2017",),
    "smoothgrad_ig": ("smilkov2017", "sundararajan2017"),
    "gradient_shap": ("lundberg2017",),
    "fullgrad": ("srinivas2019",),
    "guided_backprop": ("springenberg2015",),
    "deeplift": ("shrikumar2017deeplift",),
    "lrp": ("montavon2017",),
    "gradcam_pp": ("chattopadhyay2018",),
    "hirescam": ("draelos2020",),
    "xgradcam": ("fu2020",),
    "layercam": ("jiang2021",),
    "eigencam": ("muhammad2020",),
    "cam": ("zhou2016",),
    "scorecam": ("wang2020",),
    "ablationcam": ("desai2020",),
    "occlusion": ("zeiler2014",),
    "rise": ("petsiuk2018",),
    "drise": ("petsiuk2021",),
    "lime": ("ribeiro2016", "achanta2012"),
    "kernel_shap": ("lundberg2017", "achanta2012"),
}
"""Works behind methods, by their names."""
