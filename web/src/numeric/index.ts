export { bestPoint, percentileCurve, STEPS } from "./curve";
export type { CurvePoint } from "./curve";
export { correctedIou, iouCeiling, iouChance, scoreAt } from "./scores";
export { budgetOf, cutAt, massShare, select, weightsOf } from "./selection";
export { insideOf, readValue, readValues, sortMap, unionOf } from "./sorting";
export type { Inside, Rule, Score, ScoreName, Scores, Selected, Sign, Sorted, Ties } from "./types";
