import path from "node:path";
import type { StrategyDependencies } from "../../engine/compaction/strategy.ts";
import { invalidPolicy } from "../../engine/policy/errors.ts";
import type { Environment } from "../../engine/policy/layers.ts";
import { parseStrategyName } from "../../engine/policy/names.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import { SummariserError } from "../../errors.ts";
import type { OpenAiCompatibleOptions } from "../summariser/endpoint.ts";
import { endpointName, expectedBaseUrl, isBaseUrl, type Summariser } from "../summariser/summariser.ts";
import type { CheckedStrategy } from "./external-strategy.ts";

export type CompactionSource = ReturnType<typeof createCompactionSource>;

/** Opens and loads nothing yet. Throws `invalid_policy` if the environment names an unusable model. */
export function createCompactionSource(from: {
	readonly environment: Environment;
	/** The policy file in force. Modules are resolved from its folder; null: from the working directory. */
	readonly policyFile: () => string | null;
	readonly workingDirectory: string;
	/** The only one that is asked, if it needs no model in the environment. */
	readonly asks?: "provider" | undefined;
}) {
	const { environment, policyFile, workingDirectory } = from;
	const named = readEndpoint(environment, from.asks);
	const endpoint = named && summariserAt(named, endpointName(named.model), "chat");
	const provider = named && summariserAt(named, "provider", "provider");
	const checked = new Map<string, Promise<CheckedStrategy>>();
	const module = () => import("./external-strategy.ts");

	const checkNamed = (name: string): Promise<CheckedStrategy> => {
		const file = policyFile();
		const folder = file === null ? workingDirectory : path.dirname(path.resolve(workingDirectory, file));
		const key = JSON.stringify([name, folder]);
		const known = checked.get(key) ?? module().then(({ checkStrategy }) => checkStrategy(name, folder));
		checked.set(key, known);
		known.catch(() => checked.delete(key));
		return known;
	};

	return {
		/** One client for all calls; absent if the environment names no model. */
		endpoint,
		/** The same address, asked as Anthropic's Messages API. */
		provider,
		async loadStrategy(name: string, dependencies: StrategyDependencies) {
			const { constructStrategy } = await module();
			return constructStrategy(await checkNamed(name), dependencies);
		},
		/** Loads the strategy that a policy names, so that a server reports a bad one at its start. */
		async check({ compaction: { strategy } }: Policy) {
			if (parseStrategyName(strategy).kind === "external") await checkNamed(strategy);
		},
		close: async () => void (await Promise.all([endpoint?.close(), provider?.close()])),
	};
}

/** Loads the endpoint with its first request. */
function summariserAt(endpoint: Endpoint, name: string, api: "chat" | "provider"): Summariser {
	let opened: Promise<Summariser> | undefined;
	const open = () =>
		api === "chat"
			? import("../summariser/endpoint.ts").then((module) => module.createOpenAiCompatible(endpoint))
			: import("../summariser/provider.ts").then((module) => module.createProviderEndpoint(endpoint));
	return {
		name,
		async summarise(request) {
			opened ??= open();
			return (await opened).summarise(request);
		},
		async close() {
			// Do not load an endpoint only to close it. Later requests find it closed.
			opened ??= Promise.reject(new SummariserError("unknown", "The summariser was closed."));
			await (await opened.catch(() => undefined))?.close();
		},
	};
}

type Endpoint = OpenAiCompatibleOptions & { readonly model: string };

const longestTimeout = 2 ** 31 - 1;

/**
 * The endpoint of `PALIMPSEST_LLM_…`. Ignores variables of other programs, which the user did not set for this one. The provider of
 * a conversation is asked with the conversation's model.
 */
function readEndpoint(environment: Environment, asks: "provider" | undefined): Endpoint | undefined {
	const baseUrl = environment.PALIMPSEST_LLM_URL?.trim();
	if (!baseUrl) return undefined;
	const model = environment.PALIMPSEST_LLM_MODEL?.trim() ?? "";
	const apiKey = environment.PALIMPSEST_LLM_KEY?.trim();
	const timeout = environment.PALIMPSEST_LLM_TIMEOUT_MS?.trim();
	const timeoutMs = timeout ? Number(timeout) : undefined;
	const isTimeout = !timeout || (/^\d*[1-9]\d*$/.test(timeout) && Number(timeout) <= longestTimeout);
	const problems = Object.entries({
		[`URL: ${expectedBaseUrl}`]: isBaseUrl(baseUrl),
		"MODEL: Expected the name of the model at PALIMPSEST_LLM_URL, got none.": model !== "" || asks === "provider",
		[`TIMEOUT_MS: Expected a whole number of milliseconds from 1 to ${longestTimeout}.`]: isTimeout,
		"KEY: Expected a key of ASCII characters without white space, as HTTP headers take it.":
			!apiKey || /^[\x21-\x7e]+$/.test(apiKey),
	}).flatMap(([problem, isRight]) => (isRight ? [] : [`PALIMPSEST_LLM_${problem}`]));
	if (problems.length > 0) throw invalidPolicy("the environment", problems);
	return { baseUrl, model, ...(apiKey && { apiKey }), ...(timeoutMs !== undefined && { timeoutMs }) };
}
