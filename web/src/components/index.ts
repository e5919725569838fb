export { DataTable, compareCells, tableData, type Column, type Order } from "./data_table";
export { ExportMenu, type ExportMenuProps } from "./export_menu";
export { Checkbox, Search, Segmented, Select, Slider, type Choosable } from "./fields";
export { Link } from "./link";
export { Chip, Key, Page, Pager, Panel, Score, ScoreBar, type Tone } from "./pieces";
export { Caution, Empty, ErrorNote, Loaded, Spinner } from "./states";
export { MetricTip, Tip, metricTitle, rangeText, useMetricInfo } from "./tip";
export { carriedToView, ClearButton, useNamedWords, useView, ViewLinks } from "./views";
