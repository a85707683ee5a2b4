import path from "node:path";
import type { CompactionStrategy, StrategyDependencies } from "../compaction/strategy.ts";
import { SummariserError } from "../errors.ts";
import { invalidPolicy } from "../policy/errors.ts";
import type { Environment } from "../policy/layers.ts";
import { parseStrategyName } from "../policy/names.ts";
import type { Policy } from "../policy/schema.ts";
import type { OpenAiCompatibleOptions } from "../summariser/endpoint.ts";
import { endpointName, expectedBaseUrl, isBaseUrl, type Summariser } from "../summariser/summariser.ts";
import type { CheckedStrategy } from "./external-strategy.ts";

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
	const module = () => import("./external-strategy.ts");

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

/** A summariser that is loaded once it is first asked, and how it is loaded. */
export interface SummariserOfEnvironmentOptions {
	readonly environment: Environment;
	/** Loads what asks the endpoint; tests give their own. */
	readonly load?: () => Promise<(options: OpenAiCompatibleOptions) => Summariser>;
}

/** Longest time that a timer takes, in ms. */
const longestTimeout = 2 ** 31 - 1;

/**
 * The endpoint that the environment names: `PALIMPSEST_LLM_URL`, `PALIMPSEST_LLM_MODEL`, where it needs one
 * `PALIMPSEST_LLM_KEY`, and `PALIMPSEST_LLM_TIMEOUT_MS`; `undefined` where the first is absent or empty. No variable of
 * another program is read, so that nobody is asked who was not named here. Nothing is loaded or opened before the first
 * call; all calls share one client.
 *
 * @throws PalimpsestError `invalid_policy`, listing every variable that cannot be used, none by its value.
 */
export function summariserOfEnvironment(options: SummariserOfEnvironmentOptions): Summariser | undefined {
	const endpoint = readEndpoint(options.environment);
	if (!endpoint) return undefined;
	const { load = loadOpenAiCompatible } = options;
	let opened: Promise<Summariser> | undefined;
	return {
		name: endpointName(endpoint.model),
		async summarise(request) {
			opened ??= load().then((create) => create(endpoint));
			return (await opened).summarise(request);
		},
		async close() {
			// One that was never asked is not loaded now either, and what comes later finds it closed.
			opened ??= Promise.reject(new SummariserError("unknown", "The summariser was closed."));
			await (await opened.catch(() => undefined))?.close();
		},
	};
}

async function loadOpenAiCompatible() {
	const { createOpenAiCompatible } = await import("../summariser/endpoint.ts");
	return createOpenAiCompatible;
}

function readEndpoint(environment: Environment): (OpenAiCompatibleOptions & { readonly model: string }) | undefined {
	const baseUrl = environment.PALIMPSEST_LLM_URL?.trim();
	if (!baseUrl) return undefined;
	const model = environment.PALIMPSEST_LLM_MODEL?.trim();
	const apiKey = environment.PALIMPSEST_LLM_KEY?.trim();
	const timeout = environment.PALIMPSEST_LLM_TIMEOUT_MS?.trim();
	const problems: string[] = [];
	if (!isBaseUrl(baseUrl)) problems.push(`PALIMPSEST_LLM_URL: ${expectedBaseUrl}`);
	if (!model) {
		problems.push(
			"PALIMPSEST_LLM_MODEL: Expected the name of the model that PALIMPSEST_LLM_URL is asked for, got none.",
		);
	}
	const timeoutMs = timeout ? Number(timeout) : undefined;
	if (timeout && !(/^\d+$/.test(timeout) && Number(timeout) > 0 && Number(timeout) <= longestTimeout)) {
		problems.push(`PALIMPSEST_LLM_TIMEOUT_MS: Expected a whole number of milliseconds from 1 to ${longestTimeout}.`);
	}
	if (apiKey && !/^[\x21-\x7e]+$/.test(apiKey)) {
		problems.push(
			"PALIMPSEST_LLM_KEY: Expected a key of ASCII characters without white space, as HTTP headers take it.",
		);
	}
	if (problems.length > 0 || !model) throw invalidPolicy("the environment", problems);
	return { baseUrl, model, ...(apiKey ? { apiKey } : {}), ...(timeoutMs === undefined ? {} : { timeoutMs }) };
}
