"""Numbers to pictures, in one house style; needs matplotlib, the extra `figures`."""

from __future__ import annotations

from sightline.figures.agreement import draw_agreement_matrix
from sightline.figures.card import FigureCard
from sightline.figures.cards import FIGURES, find_card
from sightline.figures.checks import (
    create_cascade_randomization_plot,
    create_model_vs_method_analysis,
)
from sightline.figures.comparisons import (
    draw_breakdown,
    draw_leaderboard,
    draw_metrics_comparison,
)
from sightline.figures.curves import (
    create_iou_threshold_curves,
    create_pr_curve_comparison,
    create_roc_curve_comparison,
    draw_cumulative_energy,
    draw_layer_progression,
)
from sightline.figures.detection import (
    draw_confusion_matrix,
    draw_error_types,
    draw_intervals,
    draw_pr_curves,
    draw_reliability,
)
from sightline.figures.drops import draw_perturbation_drops
from sightline.figures.examples import (
    Example,
    create_ebpg_visualization,
    create_pointing_game_visualization,
    draw_examples,
)
from sightline.figures.images import (
    create_sanity_check_comparison,
    draw_layer_maps,
    visualize_all_methods,
    visualize_attribution_enhanced,
)
from sightline.figures.layers import draw_layer_changes
from sightline.figures.prototypes import (
    PrototypeCard,
    draw_drop_heatmap,
    draw_max_drop_distribution,
    draw_prototype_cards,
    draw_relevance_distributions,
)
from sightline.figures.ranking import (
    create_methods_ranking_heatmap,
    create_metrics_radar_chart,
)
from sightline.figures.removal import draw_removal_curves
from sightline.figures.style import COLOURS, house_style, new_figure, save

__all__ = [
    "COLOURS",
    "FIGURES",
    "Example",
    "FigureCard",
    "PrototypeCard",
    "create_cascade_randomization_plot",
    "create_ebpg_visualization",
    "create_iou_threshold_curves",
    "create_methods_ranking_heatmap",
    "create_metrics_radar_chart",
    "create_model_vs_method_analysis",
    "create_pointing_game_visualization",
    "create_pr_curve_comparison",
    "create_roc_curve_comparison",
    "create_sanity_check_comparison",
    "draw_agreement_matrix",
    "draw_breakdown",
    "draw_confusion_matrix",
    "draw_cumulative_energy",
    "draw_drop_heatmap",
    "draw_error_types",
    "draw_examples",
    "draw_intervals",
    "draw_layer_changes",
    "draw_layer_maps",
    "draw_layer_progression",
    "draw_leaderboard",
    "draw_max_drop_distribution",
    "draw_metrics_comparison",
    "draw_perturbation_drops",
    "draw_pr_curves",
    "draw_prototype_cards",
    "draw_relevance_distributions",
    "draw_reliability",
    "draw_removal_curves",
    "find_card",
    "house_style",
    "new_figure",
    "save",
    "visualize_all_methods",
    "visualize_attribution_enhanced",
]
