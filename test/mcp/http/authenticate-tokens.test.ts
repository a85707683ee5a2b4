import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { chmod, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { locationOfPrincipal } from "../../../src/archive/open.ts";
import type { LogEvent } from "../../../src/log.ts";
import { createTokenList, findToken, parseAuthTokens } from "../../../src/mcp/http/authenticate.ts";
import { patience } from "../../support/patience.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { alice, bob, twoTokens } from "./auth-harness.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const namespaceOf = (namespace: string, principal: string) =>
	locationOfPrincipal({ where: "memory", namespace }, principal).namespace;
const namesIn = (text: string) => parseAuthTokens(text, "a list").map(({ name }) => name);
const whoHas = (text: string, token: string) => findToken(parseAuthTokens(text, "a list"), token)?.name;

describe("a list of tokens", () => {
	test("has one per line, with comments and empty lines between", () => {
		const text = `# who may\r\nalice:${alice}\n\n  # bob left\n  bob@example.org:${bob}  \n`;
		expect(namesIn(text)).toEqual(["alice", "bob@example.org"]);
	});

	test("may be on one line, separated by blanks or commas", () => {
		expect(namesIn(`alice:${alice} bob:${bob}`)).toEqual(["alice", "bob"]);
		expect(namesIn(`alice:${alice},bob:${bob}, `)).toEqual(["alice", "bob"]);
	});

	test("stores only digests, and accepts digests instead of tokens", () => {
		const text = `alice:${alice}\nbob:sha256:${sha256(bob).toUpperCase()}`;
		expect(parseAuthTokens(text, "a list").map(({ digest }) => digest.toString("hex"))).toEqual([
			sha256(alice),
			sha256(bob),
		]);
		expect([whoHas(text, alice), whoHas(text, bob)]).toEqual(["alice", "bob"]);
		// What leaks out of a list of digests opens nothing.
		expect(whoHas(text, sha256(bob))).toBeUndefined();
	});

	test("lets one name have several tokens, for rotation", () => {
		const text = `alice:${alice}\nalice:${bob}`;
		expect([whoHas(text, alice), whoHas(text, bob)]).toEqual(["alice", "alice"]);
	});

	test.each([
		["no token", "alice:"],
		["no name", `:${alice}`],
		["a bare token", alice],
		["a short token", "alice:0123456789012345678901234567890"],
		["a token with a colon", `alice:${alice}:x`],
		["a token that no header can carry", `alice:${"é".repeat(32)}`],
		["a name with a slash", `a/b:${alice}`],
		["a name that begins with a dot", `..:${alice}`],
		["a digest that is too short", "alice:sha256:abcd"],
		["a token of two names", `bob:${alice}`],
	])("with %s is refused by line number without quoting it", (_what, entry) => {
		const text = `alice:${alice}\n${entry}\n`;
		expect(() => parseAuthTokens(text, "a list")).toThrow(/^Expected entry 2 of a list to be /);
		expect(() => parseAuthTokens(text, "a list")).toThrow(expect.objectContaining({ code: "invalid_argument" }));
		expect(() => parseAuthTokens(text, "a list")).not.toThrow(/a1a1|é|01234|abcd/);
	});

	test("accepts only a complete token", () => {
		const wrong = [alice.slice(0, -1), `${alice}0`, alice.toUpperCase(), "", "alice", `alice:${alice}`, "__proto__"];
		for (const token of wrong) expect(whoHas(twoTokens, token)).toBeUndefined();
	});
});

describe("a file of tokens", () => {
	async function followed(text: string, mode = 0o600) {
		const file = join(await scratchFolder(), "tokens");
		await writeFile(file, text, { mode });
		const logged: LogEvent[] = [];
		const list = createTokenList({ file, variable: "", log: (event) => logged.push(event), intervalMilliseconds: 10 });
		onTestFinished(list.close);
		let changes = 0;
		list.onChange(() => {
			changes += 1;
		});
		return { file, list, logged, changes: () => changes, names: () => list.current().map(({ name }) => name) };
	}

	test("is read again when it changes, also by renaming", async () => {
		const { file, changes, names } = await followed(twoTokens);
		await writeFile(`${file}.new`, `carol:${"c3".repeat(16)}`, { mode: 0o600 });
		await rename(`${file}.new`, file);
		await vi.waitFor(() => expect(names()).toEqual(["carol"]), patience);
		expect(changes()).toBe(1);
		writeFileSync(file, "# nobody any more\n");
		await vi.waitFor(() => expect(names()).toEqual([]), patience);
	});

	test.each([
		// In one go: an empty file lets nobody in.
		["cannot be used", (file: string) => writeFileSync(file, "alice")],
		["is gone", (file: string) => rm(file)],
	])("keeps the tokens in force when it %s later, and logs it", async (_what, spoil) => {
		const { file, logged, changes, names } = await followed(twoTokens);
		await spoil(file);
		await vi.waitFor(() => expect(logged).toHaveLength(1), patience);
		expect(logged[0]).toMatchObject({ level: "error", data: { event: "auth_tokens_refused" } });
		expect([names(), changes()]).toEqual([["alice", "bob"], 0]);
	});

	test.skipIf(process.platform === "win32")("that others can read causes a warning", async () => {
		const open = await followed(twoTokens, 0o644);
		expect(open.logged).toMatchObject([{ level: "warning", message: expect.stringContaining("chmod 600") }]);
		const { file, logged } = await followed(twoTokens);
		expect(logged).toEqual([]);
		await chmod(file, 0o640);
		await vi.waitFor(() => expect(logged.map(({ level }) => level)).toContain("warning"), patience);
	});

	test.each([
		["that is missing", undefined, "unreadable_file"],
		["without a token", "# none\n", "invalid_argument"],
		["that cannot be used", "alice", "invalid_argument"],
	])("%s is refused at the start", async (_what, text, code) => {
		const file = join(await scratchFolder(), "tokens");
		if (text !== undefined) await writeFile(file, text);
		expect(() => createTokenList({ file, log() {} })).toThrow(expect.objectContaining({ code }));
	});
});

describe("the namespace of a principal", () => {
	const subjects = [
		"token alice",
		"token Alice",
		"jwt https://issuer alice",
		"jwt https://issuer/ alice",
		"jwt i ../../x",
	];
	const more = [
		"token bob",
		`jwt i ${"x".repeat(5_000)}`,
		"jwt i é😀",
		"jwt i ",
		"jwt i a b",
		"token a-b",
		"token a_b",
	];

	test("is valid for an archive, and unique to the principal", () => {
		const operators = ["default", "d", "x".repeat(64), "default-alice"];
		const made = operators.flatMap((one) => [...subjects, ...more].map((who) => namespaceOf(one, who)));
		expect(new Set(made).size).toBe(operators.length * (subjects.length + more.length));
		for (const one of made) expect(one).toMatch(/^[a-z0-9][a-z0-9_-]{0,62}[a-z0-9]$/);
	});

	test("stays the same after a restart, and shows people its owner", () => {
		expect(namespaceOf("team", "token alice")).toBe("team-alice-373478376c863e058ac97c001d4c654a");
	});
});
