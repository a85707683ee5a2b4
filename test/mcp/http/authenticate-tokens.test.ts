import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { chmod, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { LogEvent } from "../../../src/log.ts";
import { createAuthentication } from "../../../src/mcp/http/authenticate.ts";
import { locationOfPrincipal } from "../../../src/storage/archive/open.ts";
import { patience } from "../../support/patience.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { alice, bob, twoTokens } from "./auth-harness.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const namespaceOf = (namespace: string, principal: string) =>
	locationOfPrincipal({ where: "memory", namespace }, principal).namespace;

type Who = Partial<Parameters<typeof createAuthentication>[0]>;

async function authenticationOf(given: Who) {
	const authentication = await createAuthentication({ log() {}, ...given });
	if (!authentication?.tokens) throw new Error("Expected a list of tokens.");
	onTestFinished(authentication.close);
	return { ...authentication, tokens: authentication.tokens };
}

const tokensIn = async (tokensVariable: string) => (await authenticationOf({ tokensVariable })).tokens.current();
const namesIn = async (text: string) => (await tokensIn(text)).map(({ name }) => name);

/** The principal of a token; `undefined` if it is refused. */
async function whoHas(tokensVariable: string, token: string): Promise<string | undefined> {
	const { verifyAccessToken } = await authenticationOf({ tokensVariable });
	return verifyAccessToken(token).then(
		({ clientId }) => clientId,
		(error: unknown) => {
			expect(error).toBeInstanceOf(InvalidTokenError);
			return undefined;
		},
	);
}

describe("a list of tokens", () => {
	test("has one per line, with comments and empty lines between", async () => {
		const text = `# who may\r\nalice:${alice}\n\n  # bob left\n  bob@example.org:${bob}  \n`;
		expect(await namesIn(text)).toEqual(["alice", "bob@example.org"]);
	});

	test("may be on one line, separated by blanks or commas", async () => {
		expect(await namesIn(`alice:${alice} bob:${bob}`)).toEqual(["alice", "bob"]);
		expect(await namesIn(`alice:${alice},bob:${bob}, `)).toEqual(["alice", "bob"]);
	});

	test("stores only digests, and accepts digests instead of tokens", async () => {
		const text = `alice:${alice}\nbob:sha256:${sha256(bob).toUpperCase()}`;
		expect((await tokensIn(text)).map(({ digest }) => digest.toString("hex"))).toEqual([sha256(alice), sha256(bob)]);
		expect([await whoHas(text, alice), await whoHas(text, bob)]).toEqual(["token alice", "token bob"]);
		// What leaks out of a list of digests opens nothing.
		expect(await whoHas(text, sha256(bob))).toBeUndefined();
	});

	test("lets one name have several tokens, for rotation", async () => {
		const text = `alice:${alice}\nalice:${bob}`;
		expect([await whoHas(text, alice), await whoHas(text, bob)]).toEqual(["token alice", "token alice"]);
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
	])("with %s is refused by line number without quoting it", async (_what, entry) => {
		const text = `alice:${alice}\n${entry}\n`;
		const refused = createAuthentication({ tokensVariable: text, log() {} });
		await expect(refused).rejects.toMatchObject({
			code: "invalid_argument",
			message: expect.stringMatching(/^Expected entry 2 of PALIMPSEST_AUTH_TOKENS to be (?!.*(?:a1a1|é|01234|abcd))/),
		});
	});

	test("tells tokens apart that begin alike, or of which one begins the other", async () => {
		const [first, second, longer] = [`${alice}a`, `${alice}b`, `${alice}ab`];
		const text = `alice:${first}\nbob:${second}\ncarol:${longer}`;
		const owners = await Promise.all([first, second, longer, alice, `${longer}c`].map((token) => whoHas(text, token)));
		expect(owners).toEqual(["token alice", "token bob", "token carol", undefined, undefined]);
	});

	test("accepts only a complete token", async () => {
		const wrong = [alice.slice(0, -1), `${alice}0`, alice.toUpperCase(), "", "alice", `alice:${alice}`, "__proto__"];
		for (const token of wrong) expect(await whoHas(twoTokens, token)).toBeUndefined();
	});
});

describe("a file of tokens", () => {
	async function followed(text: string, mode = 0o600) {
		const file = join(await scratchFolder(), "tokens");
		await writeFile(file, text, { mode });
		const logged: LogEvent[] = [];
		const { tokens: list } = await authenticationOf({
			tokensFile: file,
			log: (event) => logged.push(event),
			intervalMilliseconds: 10,
		});
		let changes = 0;
		list.onChange(() => {
			changes += 1;
		});
		return { file, logged, changes: () => changes, names: () => list.current().map(({ name }) => name) };
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
		await expect(createAuthentication({ tokensFile: file, log() {} })).rejects.toMatchObject({ code });
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
