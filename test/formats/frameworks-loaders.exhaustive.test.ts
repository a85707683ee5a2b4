import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { mask, openArchive, restore } from "../../src/index.ts";
import { installed } from "../hosts/adapters/framework.ts";
import { outputOf } from "../support/sample-text.ts";

// biome-ignore lint/suspicious/noExplicitAny: the types are in packages that are not installed here.
type Loaded = any;

/** A framework that keeps conversations, and how it takes one back. */
interface Keeper {
	readonly packages: Readonly<Record<string, string>>;
	/** A conversation with the results of four calls, as the framework keeps it. */
	readonly keep: (load: (name: string) => Promise<Loaded>) => Promise<unknown>;
	/** Loads a conversation by the framework itself. Returns what a model would be sent. */
	readonly load: (kept: unknown, load: (name: string) => Promise<Loaded>) => Promise<unknown>;
}

const calls = [1, 2, 3, 4];
const task = "Find out why the build fails.";

const keepers: Readonly<Record<string, Keeper>> = {
	llamaindex: {
		packages: { "@llamaindex/core": "0.6.23" },
		async keep(load) {
			const memory = (await load("@llamaindex/core/memory")).createMemory({ tokenLimit: 1_000_000 });
			await memory.add({ role: "user", content: task });
			for (const call of calls) {
				const [id, result] = [`call_${call}`, outputOf(`output ${call}`)];
				await memory.add({ role: "assistant", content: "", options: { toolCall: [{ id, name: "read", input: {} }] } });
				await memory.add({ role: "user", content: result, options: { toolResult: { id, result, isError: false } } });
			}
			return JSON.parse(memory.snapshot());
		},
		async load(kept, load) {
			const { loadMemory } = await load("@llamaindex/core/memory");
			return loadMemory(JSON.stringify(kept)).getLLM();
		},
	},
	"ag-ui": {
		packages: { "@ag-ui/core": "1.0.0" },
		async keep() {
			const messages = calls.flatMap((call) => {
				const [id, made] = [`call_${call}`, { name: "read", arguments: "{}" }];
				const content = call === 2 ? [{ type: "text", text: outputOf(`output ${call}`) }] : outputOf(`output ${call}`);
				return [
					{ id: `r${call}`, role: "reasoning", content: "I read.", encryptedValue: "c2ln" },
					{ id: `a${call}`, role: "assistant", toolCalls: [{ id, type: "function", function: made }] },
					{ id: `t${call}`, role: "tool", toolCallId: id, content, ...(call === 3 && { error: "exit status 2" }) },
				];
			});
			const all = [{ id: "u", role: "user", content: task }, ...messages];
			return { threadId: "t", runId: "r", state: {}, messages: all, tools: [], context: [], forwardedProps: {} };
		},
		async load(kept, load) {
			return (await load("@ag-ui/core/schemas")).RunAgentInputSchema.parse(kept).messages;
		},
	},
	convex: {
		packages: { "@convex-dev/agent": "0.7.3", "convex-helpers": "0.1.135", convex: "1.49.0", ai: "7.0.173" },
		async keep() {
			const documentOf = (message: object, order: number) => ({
				...{ _id: `m${order}`, _creationTime: order, threadId: "t", order: 0, stepOrder: order },
				...{ status: "success", tool: "role" in message && message.role === "tool", message },
			});
			const messages = calls.flatMap((call) => {
				const named = { toolCallId: `call_${call}`, toolName: "read" };
				const text = outputOf(`output ${call}`);
				const output = call === 1 ? { type: "text", value: text } : { type: "json", value: { text } };
				return [
					{ role: "assistant", content: [{ type: "tool-call", ...named, input: {}, args: {} }] },
					{ role: "tool", content: [{ type: "tool-result", ...named, output }] },
				];
			});
			return [{ role: "user", content: task }, ...messages].map(documentOf);
		},
		async load(kept, load) {
			const { validate } = await load("convex-helpers/validators");
			const { vMessageDoc } = await load("@convex-dev/agent/validators");
			for (const document of kept as object[]) validate(vMessageDoc, document, { throw: true });
			return kept;
		},
	},
	adk: {
		packages: { "@google/adk": "2.0.0" },
		async keep(load) {
			const sdk = await load("@google/adk");
			return (await sessionOf(sdk, [])).session;
		},
		async load(kept, load) {
			const sdk = await load("@google/adk");
			const { events } = kept as { readonly events: readonly object[] };
			return (await sessionOf(sdk, events)).firstRequest;
		},
	},
};

/** Runs an agent of ADK that calls a tool four times, in a session with earlier events. */
async function sessionOf(sdk: Loaded, events: readonly object[]) {
	const requests: unknown[] = [];
	class Scripted extends sdk.BaseLlm {
		constructor() {
			super({ model: "gemini-3-pro" });
		}
		async *generateContentAsync({ contents }: { contents: unknown }) {
			requests.push(structuredClone(contents));
			const id = `call_${requests.length}`;
			const call = { functionCall: { id, name: "read", args: { of: requests.length } } };
			yield { content: { role: "model", parts: requests.length <= calls.length ? [call] : [{ text: "Done." }] } };
		}
	}
	const parameters = { type: "OBJECT", properties: { of: { type: "NUMBER" } } };
	const execute = ({ of }: { of: number }) => ({ result: outputOf(`output ${of}`) });
	const read = new sdk.FunctionTool({ name: "read", description: "Reads.", parameters, execute });
	const agent = new sdk.LlmAgent({ name: "a", model: new Scripted(), instruction: "Work.", tools: [read] });
	const runner = new sdk.InMemoryRunner({ agent, appName: "app" });
	const of = { appName: "app", userId: "u" };
	const session = await runner.sessionService.createSession(of);
	for (const event of events) await runner.sessionService.appendEvent({ session, event });
	const newMessage = { role: "user", parts: [{ text: task }] };
	for await (const _ of runner.runAsync({ userId: "u", sessionId: session.id, newMessage }));
	const kept = await runner.sessionService.getSession({ ...of, sessionId: session.id });
	return { session: JSON.parse(JSON.stringify(kept)), firstRequest: requests[0] };
}

describe("a masked conversation is loaded by its framework", () => {
	it.each(Object.entries(keepers))("%s", { timeout: 240_000 }, async (name, keeper) => {
		const home = await installed(`${name}-loader`, keeper.packages);
		if (home === undefined) throw new Error(`npm does not install ${Object.keys(keeper.packages).join(", ")}.`);
		const found = createRequire(join(home, "package.json"));
		const load = (module: string) => import(pathToFileURL(found.resolve(module)).href);
		const kept = await keeper.keep(load);
		const archive = await openArchive({ where: "memory" });
		const policy = { locale: "en", mask: { window_turns: 1, cadence: "every_turn" } } as const;
		const { conversation, report } = await mask(kept, { archive, policy });
		expect(report.masked_tool_results).toBe(name === "ag-ui" ? 2 : 3);
		const sent = JSON.stringify(await keeper.load(conversation, load));
		expect(sent).toContain("call_1");
		expect(sent).toContain("Observation masked");
		expect(sent).not.toContain(JSON.stringify(outputOf("output 1")).slice(1, -1));
		expect(sent).toContain(JSON.stringify(outputOf("output 4")).slice(1, -1));
		const restored = archive && (await restore(conversation, archive));
		expect(restored?.conversation).toEqual(kept);
	});
});
