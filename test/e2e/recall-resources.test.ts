import { existsSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ResourceLink } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { refOfHash } from "../../src/storage/archive/reference.ts";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { patience } from "../support/patience.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { type RecalledAnswer, recallSession, refsIn, structured, textOf } from "./recall-session.ts";

type Masked = { readonly messages: readonly { readonly content: string }[] };

const messages = agentConversation(10);
const never = refOfHash("0123456789abcdef");

describe("the tool's definition", () => {
	it("comes last and changes no other tool, and all together stay under 1 900 tokens", async () => {
		const { client } = await recallSession();
		const listed = await client.listTools();
		const recall = listed.tools.at(-1);
		expect(recall).toMatchObject({
			name: "recall_original",
			annotations: { readOnlyHint: true, openWorldHint: false },
		});
		expect(recall?.description).toMatch(/intact original.*ref=, réf= or #/);
		expect(client.getInstructions()).toContain("recall_original reads the intact original");
		expect(Buffer.byteLength(client.getInstructions() ?? "")).toBeLessThan(2_048);
		const countTokens = await loadCounter("o200k_base");
		expect(countTokens(JSON.stringify(recall))).toBeLessThanOrEqual(250);
		expect(countTokens(JSON.stringify(listed))).toBeLessThan(1_900);
	});
});

it("a server that only listed its tools has not opened an archive", async () => {
	const archive = join(await scratchFolder(), "archive");
	const session = await recallSession({ archive });
	await session.client.listTools();
	expect(existsSync(archive)).toBe(false);
	await session.call("mask_conversation", { messages });
	expect(existsSync(archive)).toBe(true);
});

describe("original://{ref}", () => {
	it("reads a complete original; originals are not listed", async () => {
		const session = await recallSession();
		const [ref] = refsIn(structured<Masked>(await session.call("mask_conversation", { messages })).messages);
		const { resourceTemplates } = await session.client.listResourceTemplates();
		expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain("original://{ref}");
		const { resources } = await session.client.listResources();
		expect(resources.filter(({ uri }) => uri.startsWith("original://"))).toEqual([]);
		const uri = `original://${ref}`;
		const { contents } = await session.client.readResource({ uri });
		expect(contents).toEqual([{ uri, mimeType: "text/plain", text: messages[3]?.content }]);
	});

	it("reports a missing original, and one too large for a message", async () => {
		const session = await recallSession();
		const absent = session.client.readResource({ uri: `original://${never}` });
		await expect(absent).rejects.toMatchObject({
			code: -32_002,
			message: expect.stringContaining("[original_not_found]"),
		});
		const text = "all of it\n".repeat(900_000);
		const { ref } = structured<{ ref: string }>(await session.call("truncate_output", { text }));
		const large = session.client.readResource({ uri: `original://${ref}` });
		await expect(large).rejects.toThrow(/\[payload_too_large\] .* 9000000 characters.*recall_original/);
		const part = await session.call("recall_original", { ref, lines: "899999-" });
		expect(structured<RecalledAnswer>(part).text).toBe("all of it\nall of it\n");
	});

	it("gets at most ten links in a tool answer, and none with edits", async () => {
		const session = await recallSession({ parameters: ["--set", "mask.window_turns=1"] });
		const linksOf = async (name: string, parameters: object) => {
			const { content } = await session.call(name, { ...parameters });
			return content.filter((block): block is ResourceLink => block.type === "resource_link");
		};
		const many = { messages: agentConversation(20) };
		const masked = structured<Masked>(await session.call("mask_conversation", many));
		const refs = refsIn(masked.messages);
		expect(refs).toHaveLength(19);
		for (const respond_with of ["messages", "report"]) {
			const links = await linksOf("mask_conversation", { ...many, respond_with });
			expect(links.map(({ uri }) => uri)).toEqual(refs.slice(-10).map((ref) => `original://${ref}`));
			expect(links[0]?.description).toMatch(/^tool_call_id call_9, \d+ characters$/);
		}
		expect(await linksOf("mask_conversation", { ...many, respond_with: "edits" })).toEqual([]);
		expect(await linksOf("truncate_output", { text: "short" })).toEqual([]);
		expect(await linksOf("truncate_output", { text: "long ".repeat(1_000), max_chars: 1_000 })).toHaveLength(1);
	});
});

describe("two namespaces", () => {
	it("resolve no original of each other, with the error for an unknown one", async () => {
		const mine = await recallSession({ parameters: ["--namespace", "mine"] });
		const theirs = await recallSession({ archive: mine.archive, parameters: ["--namespace", "theirs"] });
		const [ref = ""] = refsIn(structured<Masked>(await mine.call("mask_conversation", { messages })).messages);
		const errorOf = async (parameters: Record<string, unknown>) => {
			const result = await theirs.call("recall_original", parameters);
			expect(result.isError).toBe(true);
			return textOf(result);
		};
		expect(await errorOf({ ref })).toBe(await errorOf({ ref: never }));
		expect(await errorOf({ ref: ref.slice(0, -1) })).toBe(await errorOf({ ref: never.slice(0, -1) }));
		expect(await errorOf({ tool_call_id: "call_0" })).toBe(await errorOf({ tool_call_id: "never" }));
		const resource = (uri: string) => theirs.client.readResource({ uri }).catch((error: Error) => error.message);
		expect(await resource(`original://${ref}`)).toBe(await resource(`original://${never}`));
		expect(structured<RecalledAnswer>(await mine.call("recall_original", { ref })).text).toBe(messages[3]?.content);
	});
});

describe("redaction", () => {
	it("keeps matching text out of the archive, and recall reports it", async () => {
		const session = await recallSession({ parameters: ["--set", 'archive.redact=["TOPSECRET-\\\\d+"]'] });
		const [ref] = refsIn(structured<Masked>(await session.call("mask_conversation", { messages })).messages);
		const result = await session.call("recall_original", { ref });
		const { text, redactions } = structured<RecalledAnswer>(result);
		expect(text).toBe(String(messages[3]?.content).replaceAll(secret, "[redacted before archiving]"));
		expect(redactions).toBe(40);
		expect(textOf(result)).toMatch(/^\[[^\n]*; 40 places were redacted before it was kept\]\n/);
	});

	it("starts when the policy file enables it, without a restart", async () => {
		const folder = await scratchFolder();
		const file = join(folder, "palimpsest.toml");
		await writeFile(file, "");
		const session = await recallSession({ folder, parameters: ["--policy", "palimpsest.toml"] });
		const recalled = async () => {
			const masked = structured<Masked>(await session.call("mask_conversation", { messages }));
			const [ref] = refsIn(masked.messages);
			return structured<RecalledAnswer>(await session.call("recall_original", { ref })).text;
		};
		expect(await recalled()).toContain(secret);
		await writeFile(`${file}.new`, '[archive]\nredact = ["TOPSECRET-[0-9]+"]\n');
		await rename(`${file}.new`, file);
		await expect.poll(recalled, patience).not.toContain(secret);
	});
});
