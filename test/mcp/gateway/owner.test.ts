import { describe, expect, it } from "vitest";
import { ownerOf } from "../../../src/mcp/gateway/owner.ts";

const server = {
	entry: undefined,
	words: ["npx", "server"],
	folder: "/projects/a",
	environment: { ACCOUNT: "alice", TERM: "xterm" },
	key: Buffer.alloc(32, 1),
};
const named = { ...server, entry: "github@12345678" };

describe("the owner of originals", () => {
	it.each([
		["another account in the environment", { environment: { ACCOUNT: "bob", TERM: "xterm" } }],
		["one more variable", { environment: { ...server.environment, PROFILE: "work" } }],
		["another command line", { words: ["npx", "server", "--all"] }],
		["another folder", { folder: "/projects/b" }],
		["another user's key", { key: Buffer.alloc(32, 2) }],
	])("is another one with %s", (_what, other) => {
		expect(ownerOf({ ...server, ...other })).not.toBe(ownerOf(server));
	});

	it("is the same in another terminal, and with variables in another order", () => {
		const environment = {
			TERM: "dumb",
			SHLVL: "4",
			SSH_AUTH_SOCK: "/tmp/ssh-new",
			npm_lifecycle_event: "npx",
			ACCOUNT: "alice",
		};
		expect(ownerOf({ ...server, environment })).toBe(ownerOf(server));
	});

	it("is that of the entry where it is known, with any token and any version of the server", () => {
		const renewed = { environment: { ACCOUNT: "alice", TOKEN: "new" }, words: ["npx", "server@2"] };
		expect(ownerOf({ ...named, ...renewed })).toBe(ownerOf(named));
		for (const other of [{ entry: "github-work@12345678" }, { entry: "github@87654321" }, { folder: "/projects/b" }])
			expect(ownerOf({ ...named, ...other })).not.toBe(ownerOf(named));
	});

	it("does not show the environment", () => {
		expect(ownerOf(server)).toMatch(/^[0-9a-f]{32}$/);
	});
});
