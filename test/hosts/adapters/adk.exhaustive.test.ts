import { palimpsest } from "../../../src/hosts/adapters/adk.ts";
import { givenFor, type SentItem, toolNames } from "./agent-script.ts";
import { task } from "./ai-sdk-agent.ts";
import { type Driver, playsSixtyTurns } from "./framework.ts";

type Item = Readonly<Record<string, unknown>>;

const ofAdk: Driver = {
	packages: { "@google/adk": "2.0.0" },
	trimmings: {
		TruncatingContextCompactor: async (load) =>
			new (await load("@google/adk")).TruncatingContextCompactor({
				threshold: 50,
				preserveLeadingEvents: 1,
			}),
	},
	async play({ turns, provider, options, trimming, load }) {
		const sdk = await load("@google/adk");
		const context = options && palimpsest(sdk, options);
		class ScriptedModel extends sdk.BaseLlm {
			constructor() {
				super({ model: "gemini-3-pro" });
			}
			async *generateContentAsync({ contents }: { contents: readonly Item[] }) {
				await context?.settled();
				const turn = provider.requests.length;
				const { usage, signature } = provider.receive(contents.map(itemOfContent));
				const calls = turns[turn]?.map(({ id, tool: name, input: args }) => ({ functionCall: { id, name, args } }));
				const signed = { text: `Turn ${turn}.`, thought: true, thoughtSignature: signature };
				const read = Math.round(usage.read);
				const counts = { promptTokenCount: Math.round(usage.input) + read, cachedContentTokenCount: read };
				yield {
					content: { role: "model", parts: calls ? [signed, ...calls] : [{ text: "Done." }] },
					usageMetadata: { ...counts, candidatesTokenCount: 60 },
				};
			}
		}
		const own = toolNames.map(
			(name) =>
				new sdk.FunctionTool({
					name,
					description: `Runs ${name}.`,
					parameters: { type: "OBJECT", properties: { path: { type: "STRING" } } },
					execute(_: unknown, { functionCallId }: { functionCallId: string }) {
						const { kind, text } = givenFor(turns, functionCallId);
						if (kind === "error") return { error: text };
						return kind === "json" ? { rows: text.split("\n") } : text;
					},
				}),
		);
		const tools = [...own, ...(context?.tools ?? [])];
		const agent = new sdk.LlmAgent({
			name: "a",
			model: new ScriptedModel(),
			instruction: "You are an agent.",
			tools,
			...(trimming && { contextCompactors: [trimming] }),
		});
		const runner = new sdk.InMemoryRunner({ agent, appName: "app", plugins: context ? [context.plugin] : [] });
		const { id: sessionId } = await runner.sessionService.createSession({ appName: "app", userId: "u" });
		const newMessage = { role: "user", parts: [{ text: task }] };
		const runConfig = { maxLlmCalls: turns.length + 2 };
		for await (const _ of runner.runAsync({ userId: "u", sessionId, newMessage, runConfig }));
		const session = await runner.sessionService.getSession({ appName: "app", userId: "u", sessionId });
		return session.events.map(({ author, content }: Item) => ({ author, content }));
	},
};

/** A content of Gemini. Its API takes results in any order after their calls. */
function itemOfContent(content: Item): SentItem {
	const parts = content.parts as readonly Item[];
	const ids = (key: string) => parts.flatMap((part) => (part[key] ? [String((part[key] as Item).id)] : []));
	const results = ids("functionResponse");
	const role = content.role === "model" ? "assistant" : "user";
	return {
		role: results.length > 0 ? "tool" : role,
		calls: ids("functionCall"),
		results,
		reasoning: [],
		text: JSON.stringify(content),
	};
}

playsSixtyTurns("adk", ofAdk);
