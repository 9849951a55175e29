/**
 * Helpers for tests of machines: scenarios as tests, the shortest ways to everything in a definition, what histories did
 * not visit, and event sequences for fast-check. docs/testing.md.
 */

export { type ContractCase, databaseContract, type DatabaseSubject } from "./database-contract.ts";
export { arbitraryEvents, type ArbitraryOptions, type FastCheck } from "./testing/arbitrary.ts";
export { type Coverage, coverage, type Histories, type Tally } from "./testing/coverage.ts";
export type { Item } from "./testing/items.ts";
export { type Path, type PathOptions, type Paths, paths } from "./testing/paths.ts";
export { asScenario, type FileUrl, scenario, ScenarioFailure } from "./testing/scenario.ts";
export { type Played, play, type Start, type Step, type StepEvent } from "./testing/steps.ts";
