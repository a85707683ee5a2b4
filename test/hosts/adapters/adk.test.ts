import { join } from "node:path";
import { beforeEach, expect, it, vi } from "vitest";
import { palimpsest } from "../../../src/hosts/adapters/adk.ts";
import { isMasked, outputOf, textsIn } from "../../proxy/sessions.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	for (const name of Object.keys(process.env)) if (name.startsWith("PALIMPSEST_")) vi.stubEnv(name, undefined);
	vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
	return () => vi.unstubAllEnvs();
});

class BasePlugin {
	readonly name: string;
	constructor(name: string) {
		this.name = name;
	}
	async beforeToolCallback(): Promise<undefined> {}
}

class FunctionTool {
	readonly config: {
		readonly name: string;
		readonly parameters: object;
		readonly execute: (input: unknown) => Promise<string>;
	};
	constructor(config: FunctionTool["config"]) {
		this.config = config;
	}
}

interface Callbacks {
	readonly beforeModelCallback: (call: object) => Promise<undefined>;
	readonly afterModelCallback: (call: object) => Promise<undefined>;
	readonly onModelErrorCallback: (call: object) => Promise<undefined>;
}

const contentsOf = (turns: number) => [
	{ role: "user", parts: [{ text: "Find out where each value is read." }] },
	...Array.from({ length: turns }, (_, turn) => {
		const call = { id: `call_${turn}`, name: "read_file" };
		return [
			{ role: "model", parts: [{ functionCall: { ...call, args: { at: turn } } }] },
			{ role: "user", parts: [{ functionResponse: { ...call, response: { result: outputOf(turn, 9_000) } } }] },
		];
	}).flat(),
];

it("old results are masked in a request, its contents stay as they are, and after a refusal requests go out whole", async () => {
	const { plugin, tools, settled } = palimpsest<BasePlugin, FunctionTool>({ BasePlugin, FunctionTool } as never, {
		archive: "memory",
		folder,
	});
	const { beforeModelCallback, afterModelCallback, onModelErrorCallback } = plugin as BasePlugin & Callbacks;
	expect(plugin).toBeInstanceOf(BasePlugin);
	expect(await plugin.beforeToolCallback()).toBeUndefined();
	const toolsDict = Object.fromEntries(tools.map(({ config }) => [config.name, config]));
	const callbackContext = { invocationId: "i", agentName: "a" };
	const ask = async (turns: number) => {
		const own = contentsOf(turns);
		const llmRequest = { model: "gemini-3-pro", contents: own, toolsDict };
		await beforeModelCallback({ callbackContext, llmRequest });
		expect(own).toEqual(contentsOf(turns));
		return llmRequest.contents;
	};
	for (const turns of [10, 20, 29]) {
		await ask(turns);
		const usageMetadata = { promptTokenCount: 20_000, cachedContentTokenCount: 15_000, candidatesTokenCount: 80 };
		await afterModelCallback({ callbackContext, llmResponse: { partial: true } });
		await afterModelCallback({ callbackContext, llmResponse: { usageMetadata } });
		await settled();
	}
	const [placeholder = ""] = textsIn(await ask(30)).filter(isMasked);
	const ref = / #(\w+)\]/.exec(placeholder)?.[1];
	const recall = tools.find(({ config }) => config.name === "recall_original");
	expect(await recall?.config.execute({ ref, max_tokens: 60 })).toContain("src/part-0/file-1.ts:7");
	expect(recall?.config.parameters).toMatchObject({ type: "OBJECT", properties: { ref: { type: "STRING" } } });
	await onModelErrorCallback({ callbackContext, error: Object.assign(new Error("Refused."), { status: 400 }) });
	await settled();
	expect(await ask(30)).toEqual(contentsOf(30));
});
