import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { SamplingMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { modelMessageSchema, safeValidateUIMessages } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formats } from "../../src/formats/detect.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { apiFixtures } from "./api-fixtures.ts";

const root = resolve(import.meta.dirname, "../..");
const folder = resolve(root, "build/api-types");

const policy = policyOf({
	mask: { window_turns: 1 },
	guard: { max_tool_result_chars: 400, truncate_head_chars: 100, truncate_tail_chars: 100, reserve_tokens: 0 },
});

/** What masking, truncating and dropping make of a conversation. */
async function outcomesOf(messages: readonly unknown[]) {
	const masked = await maskConversation({ conversation: messages, policy });
	const ladder = (steps: ("truncate" | "drop")[]) => ({ ...policy, guard: { ...policy.guard, ladder: steps } });
	const half = Math.floor(masked.report.tokens.before / 2);
	const truncated = await guardConversation({
		conversation: messages,
		policy: ladder(["truncate"]),
		contextWindow: half,
	});
	const dropped = await guardConversation({ conversation: messages, policy: ladder(["drop"]), contextWindow: half });
	return { masked, truncated, dropped };
}

/** Messages written new and in the place of each of a conversation. */
function writtenIn(format: string, messages: readonly unknown[]): unknown[] {
	const { message: write } = formats.find(({ name }) => name === format)?.write ?? {};
	const roles = ["user", "assistant"] as const;
	return [undefined, ...messages].flatMap((instead) =>
		roles.map((role) => write?.({ role, text: 'So far: "a" & <b>.\n', instead })),
	);
}

describe("results are valid for their API", () => {
	beforeAll(() => mkdirSync(folder, { recursive: true }));
	afterAll(() => rmSync(folder, { recursive: true, force: true }));

	it.each(apiFixtures)("$format is detected, masked, truncated and dropped from", async ({ format, messages }) => {
		const { masked, truncated, dropped } = await outcomesOf(messages);
		expect(masked.report.format).toBe(format);
		expect(masked.report.masked_tool_results).toBeGreaterThanOrEqual(3);
		expect(truncated.report.truncated_tool_results).toBeGreaterThanOrEqual(3);
		expect(dropped.report.dropped_messages).toBeGreaterThan(0);
		for (const outcome of [masked, truncated, dropped]) expect(outcome.error).toBeUndefined();
	});

	it("compiles against the types of the providers", async () => {
		for (const [index, { format, importType, type, messages }] of apiFixtures.entries()) {
			const { masked, truncated, dropped } = await outcomesOf(messages);
			const constants = {
				before: messages,
				masked: masked.conversation,
				truncated: truncated.conversation,
				dropped: dropped.conversation,
				written: writtenIn(format, messages),
			};
			const lines = Object.entries(constants).map(
				([name, value]) => `export const ${name}: ${type} = ${JSON.stringify(value)};`,
			);
			writeFileSync(resolve(folder, `${index}-${format}.ts`), [importType, ...lines].join("\n"));
		}
		const compilerOptions = {
			module: "nodenext",
			target: "es2023",
			lib: ["es2023", "dom"],
			types: ["node"],
			strict: true,
			noEmit: true,
			skipLibCheck: true,
		};
		writeFileSync(resolve(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
		writeFileSync(resolve(folder, "package.json"), JSON.stringify({ type: "module" }));
		const compile = () =>
			execFileSync(resolve(root, "node_modules/.bin/tsc"), ["-p", folder], { encoding: "utf8", stdio: "pipe" });
		const refused = () => {
			try {
				return compile();
			} catch (error) {
				return String((error as { stdout?: string }).stdout);
			}
		};
		expect(refused()).toBe("");
		// A message that no API takes has to be noticed, or the check above says nothing.
		writeFileSync(
			resolve(folder, "wrong.ts"),
			'import type OpenAI from "openai";\nexport const wrong: OpenAI.ChatCompletionMessageParam[] = [{ role: "tool", content: 1 }];',
		);
		expect(compile).toThrow();
	});

	it("passes the validators that the packages ship", async () => {
		for (const { format, messages } of apiFixtures) {
			const { masked, truncated, dropped } = await outcomesOf(messages);
			const written = writtenIn(format, messages);
			expect(written.length).toBeGreaterThan(10);
			for (const conversation of [...[masked, truncated, dropped].map((one) => one.conversation), written]) {
				const list = conversation as unknown[];
				if (format === "vercel-model")
					for (const message of list) expect(() => modelMessageSchema.parse(message)).not.toThrow();
				if (format === "vercel-ui") expect((await safeValidateUIMessages({ messages: list })).success).toBe(true);
				if (format === "mcp-sampling")
					for (const message of list) expect(() => SamplingMessageSchema.parse(message)).not.toThrow();
			}
		}
	});
});
