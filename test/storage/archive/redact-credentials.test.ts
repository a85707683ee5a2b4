import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PalimpsestError } from "../../../src/errors.ts";
import { guardConversation } from "../../../src/operations/guard.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import { recallOriginal } from "../../../src/operations/recall.ts";
import { truncateText } from "../../../src/operations/truncate.ts";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { createRedact, findCredentials } from "../../../src/storage/archive/redact.ts";
import { restoreConversation } from "../../../src/storage/restore/restore.ts";
import { policyOf } from "../../support/policy-of.ts";
import { textOfLength } from "../../support/sample-text.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { openaiMessages, system, toolTurn, user } from "../../support/script.ts";
import { madeUpCredentials } from "./credentials.ts";

const credentials = madeUpCredentials();
const named = Object.entries(credentials);
const open: Archive[] = [];
async function openIn(where: string, redactCredentials = true): Promise<Archive> {
	const archive = (await openArchive({ where, redactCredentials })) as Archive;
	open.push(archive);
	return archive;
}

const redactionMark = "[redacted before archiving]";

let find: Awaited<ReturnType<typeof findCredentials>>;
beforeAll(async () => {
	find = await findCredentials();
});
afterAll(() => Promise.all(open.map((archive) => archive.close())));

/** All bytes that stand in a folder, names of files among them. */
async function everythingIn(folder: string): Promise<string> {
	const entries = await readdir(folder, { recursive: true, withFileTypes: true });
	const files = entries.filter((entry) => entry.isFile());
	const texts = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), "utf8")));
	return [...entries.map(({ name }) => name), ...texts].join("\n");
}

describe("credentials", () => {
	/** A preset with one rule that searches in the given way. */
	const presetOf =
		(file: () => unknown): Parameters<typeof findCredentials>[0] =>
		async () => ({ creator: { rules: [{ meta: { id: "made-up" }, create: () => ({ file }) }] } });

	it.each(named)("%s: found in a text, in its JSON, and in the JSON of that", (_, { text, secret }) => {
		const redact = createRedact([find]);
		let written = `${textOfLength(500)}\n${text}\n${textOfLength(500)}`;
		for (let level = 0; level < 3; level += 1) {
			const inJson = level === 0 ? secret : JSON.stringify(secret).slice(1, -1);
			expect(written).toContain(inJson);
			const redacted = redact(written);
			expect(redacted.redactions).toBe(1);
			expect(redacted.text).toContain(redactionMark);
			expect(redacted.text).not.toContain(inJson);
			expect(redacted.text.length).toBeGreaterThan(900);
			if (level > 0) JSON.parse(redacted.text);
			written = JSON.stringify([{ type: "text", text: written }]);
		}
	});

	it("are found across window boundaries of a long text", () => {
		const { rsa, slack } = credentials;
		const redact = createRedact([find]);
		for (let at = 10_000; at < 60_000; at += 997) {
			const text = `${textOfLength(at)}\n${rsa?.text}\n${slack?.text}${textOfLength(40_000)}`;
			expect(redact(text).redactions, `${at}`).toBe(2);
		}
	});

	it("are not hidden by a comment that turns secretlint off", () => {
		expect(find(`secretlint-disable\n${credentials.github?.text}\n`)).toHaveLength(1);
	});

	it("are searched for in hostile text in linear time", () => {
		const github = credentials.github?.secret ?? "";
		const units = [
			"a",
			"AKIA",
			"ghp_",
			" ",
			"\n",
			"-----BEGIN PRIVATE KEY-----\n",
			"xoxb-a-",
			"https://a:b",
			`${github}\n`,
		];
		const windowsOf = (text: string) => Math.ceil(text.length / (32_768 - 12_288));
		for (const unit of units) {
			const text = unit.repeat(Math.ceil(1e6 / unit.length));
			const found = find(text).length;
			// No window finds more than it has room for.
			expect(found, unit.slice(0, 20)).toBeLessThanOrEqual(windowsOf(text) * Math.ceil(32_768 / 20));
			if (unit.startsWith(github)) expect(found).toBeGreaterThanOrEqual(Math.floor(1e6 / unit.length));
		}
	});

	it("are found at the right place after a byte order mark", () => {
		const { github } = credentials;
		const redacted = createRedact([find])(`\uFEFF${github?.text}`).text;
		expect(redacted).toBe(`\uFEFF${github?.text.replace(github.secret, redactionMark)}`);
	});

	it("are searched for without performance marks, which secretlint would keep forever", () => {
		performance.clearMarks();
		for (let time = 0; time < 100; time += 1) find(`${credentials.github?.text} ${time}`);
		expect(performance.getEntriesByType("mark")).toEqual([]);
	});

	it("that cannot be searched for leave the text unstored", async () => {
		const failing = [
			() => {
				throw new Error("no");
			},
			// What a promise brings would come too late.
			async () => {},
			() => Promise.reject(new Error("late")),
		];
		for (const file of failing) {
			const search = await findCredentials(presetOf(file));
			expect(() => search("text")).toThrow(expect.objectContaining({ code: "archive_unavailable" }));
		}
		const absent = findCredentials(() => Promise.reject(new Error("Cannot find package")));
		await expect(absent).rejects.toMatchObject({
			code: "archive_unavailable",
			message: expect.stringContaining("secretlint-rule-preset-recommend"),
		});
	});
});

describe("an archive that redacts credentials", () => {
	const all = named.map(([, { text }]) => text).join("\n\n");
	const turns = (count: number) =>
		Array.from({ length: count }, (_, index) =>
			toolTurn(`c${index}`, `${textOfLength(2000)} ${index}\n${index < 3 ? all : ""}`),
		);
	const conversation = (count: number) => openaiMessages(system("S"), user("The task."), ...turns(count));
	const policy = policyOf({ mask: { window_turns: 1 } });
	const expectNoSecret = (text: string) => {
		for (const [name, { secret }] of named) expect(text.includes(secret), name).toBe(false);
	};

	it("stores no credential, gives equal texts the same name, and reports redactions", async () => {
		const folder = await scratchFolder();
		const archive = await openIn(folder);
		const first = await maskConversation({ conversation: conversation(4), policy, archive });
		const refs = first.edits.map(({ ref }) => ref ?? "");
		expect(refs).toHaveLength(3);
		const stored = await everythingIn(folder);
		expectNoSecret(stored);
		expect(stored.split(redactionMark).length - 1).toBe(3 * named.length);
		const recalled = await recallOriginal({ archive, policy, ref: refs[0] ?? "" });
		expect(JSON.stringify(recalled)).toContain(`"redactions":${named.length}`);
		const another = await openIn(folder);
		const longer = await maskConversation({ conversation: conversation(6), policy, archive: another });
		expect(longer.edits.slice(0, 3)).toEqual(first.edits);
		const { report } = await restoreConversation({ conversation: first.conversation, archive, policy });
		expect(report).toMatchObject({ restored: 3, redacted: refs });
		const plain = await openIn("memory", false);
		expect(plain.refOf(all)).not.toBe(archive.refOf(all));
		expect(plain.refOf("nothing secret")).toBe(archive.refOf("nothing secret"));
	});

	it("edits nothing when the search fails, unless the policy gives up recall", async () => {
		const archive = await openIn("memory");
		const refOf = () => {
			throw new PalimpsestError("archive_unavailable", "Looking for credentials failed.");
		};
		const request = { conversation: conversation(4), archive: { ...archive, refOf } };
		const cut = { text: textOfLength(50_000), maxChars: 1000, archive: request.archive };
		const unavailable = { code: "archive_unavailable" };
		await expect(maskConversation({ ...request, policy })).rejects.toMatchObject(unavailable);
		await expect(truncateText({ ...cut, policy })).rejects.toMatchObject(unavailable);
		const giving = policyOf({ mask: { window_turns: 1 }, on_archive_failure: "mask_without_recall" });
		const masked = await maskConversation({ ...request, policy: giving });
		expect(masked.edits.map(({ ref }) => ref)).toEqual([undefined, undefined, undefined]);
		expect((await truncateText({ ...cut, policy: giving })).report).toMatchObject({ truncated: true });
		expect((await archive.stats()).originals).toBe(0);
	});

	it("stores none from several parts, their places, or dropped messages", async () => {
		const folder = await scratchFolder();
		const archive = await openIn(folder);
		const parts = named.map(([, { text }]) => ({ type: "text", text: `${textOfLength(300)}\n"${text}"` }));
		const given = conversation(4).map((message) =>
			message.role === "tool" ? { ...message, content: parts } : message,
		) as unknown;
		const masked = await maskConversation({ conversation: given, policy, archive });
		expect(masked.edits).toHaveLength(3);
		const { report, conversation: restored } = await restoreConversation({
			conversation: masked.conversation,
			archive,
			policy,
		});
		expect(report.restored).toBe(3);
		expect(report.redacted).toHaveLength(1);
		expectNoSecret(JSON.stringify((restored as unknown[]).slice(0, -2)));
		const dropping = policyOf({ guard: { ladder: ["drop"], reserve_tokens: 0 } });
		const guarded = await guardConversation({
			conversation: conversation(4),
			policy: dropping,
			archive,
			contextWindow: 6000,
		});
		expect(guarded.report.dropped_groups?.length).toBeGreaterThan(0);
		const kinds = new Set<string>();
		for await (const { kind } of archive.list()) kinds.add(kind);
		expect([...kinds].sort()).toEqual(["group", "places", "result"]);
		expectNoSecret(await everythingIn(folder));
	});
});
