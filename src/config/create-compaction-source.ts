import path from "node:path";
import type { CompactionStrategy, StrategyDependencies } from "../engine/compaction/strategy.ts";
import type { Environment } from "../policy/layers.ts";
import { parseStrategyName } from "../policy/names.ts";
import type { Policy } from "../policy/schema.ts";
import type { Summariser } from "../summariser/summariser.ts";
import type { CheckedStrategy } from "./load-strategy.ts";
import { summariserOfEnvironment } from "./summariser-of-environment.ts";

/** What compacting takes from the configuration: the model that the environment names, and strategies of the user's own. */
export interface CompactionSource {
	/** One client for all calls; absent where the environment names no model. */
	readonly endpoint: Summariser | undefined;
	/** Makes the strategy of a name. Its module is loaded once. */
	readonly loadStrategy: (name: string, dependencies: StrategyDependencies) => Promise<CompactionStrategy>;
	/** Checks the strategy that a policy names. Fails as `checkStrategy` does. */
	readonly check: (policy: Policy) => Promise<void>;
	/** Ends calls under way and lets connections go. */
	readonly close: () => Promise<void>;
}

/**
 * Makes a compaction source; opens and loads nothing yet.
 *
 * @throws PalimpsestError `invalid_policy` where the environment names a model that cannot be asked.
 */
export function createCompactionSource(what: {
	readonly environment: Environment;
	/** The policy file in force, from whose folder modules are looked for; null: from the working directory. */
	readonly policyFile: () => string | null;
	readonly workingDirectory: string;
}): CompactionSource {
	const { environment, policyFile, workingDirectory } = what;
	const endpoint = summariserOfEnvironment({ environment });
	const checked = new Map<string, Promise<CheckedStrategy>>();
	const module = () => import("./load-strategy.ts");

	const checkNamed = (name: string): Promise<CheckedStrategy> => {
		const file = policyFile();
		const folder = file === null ? workingDirectory : path.dirname(path.resolve(workingDirectory, file));
		const key = JSON.stringify([name, folder]);
		const known = checked.get(key) ?? module().then(({ checkStrategy }) => checkStrategy({ name, folder }));
		checked.set(key, known);
		// What failed may be mended by the next call.
		known.catch(() => checked.delete(key));
		return known;
	};

	return {
		endpoint,
		async loadStrategy(name, dependencies) {
			const { constructStrategy } = await module();
			return constructStrategy(await checkNamed(name), dependencies);
		},
		async check(policy) {
			const { strategy } = policy.compaction;
			if (parseStrategyName(strategy).kind === "external") await checkNamed(strategy);
		},
		async close() {
			await endpoint?.close();
		},
	};
}
