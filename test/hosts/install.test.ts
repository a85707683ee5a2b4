import { describe, expect, it } from "vitest";
import { serverHosts as hosts } from "../../src/hosts/hosts.ts";
import { enterServer, isWritable, removeServer } from "../../src/hosts/install.ts";
import { serverStart } from "../../src/hosts/own-command.ts";

const start = serverStart({ preset: "balanced", platform: "linux" });

const writable = hosts.filter(isWritable);
const hostOf = (name: string) => writable.find((host) => host.name === name) as (typeof writable)[number];
const hasServer = (text: string, host: (typeof writable)[number]) => removeServer(text, host) !== text;

const [claude, codex] = [hostOf("claude-desktop"), hostOf("codex")];

const json = `{
    // the servers that I use
    "mcpServers": {
        "files": {"command": "npx", "args": ["-y", "files"]}, // keep this
    },
    "theme": "dark",
}
`;

const toml = `# my own settings
model = "gpt-5" # the large one

[mcp_servers.docs]
command = "docs" # keep this
args = []

[tui]
theme = "dark"
`;

it("is removed again from under an empty header of the user's", () => {
	const removed = removeServer(enterServer("[mcp_servers]\n", codex, start), codex);
	expect(removed.trim()).toBe("[mcp_servers]");
});

describe.each([
	["JSON", claude, json],
	["TOML", codex, toml],
])("a server added to %s", (_, host, text) => {
	it("is present, and every existing line stays", () => {
		const entered = enterServer(text, host, start);
		expect([hasServer(text, host), hasServer(entered, host)]).toEqual([false, true]);
		const lines = entered.split("\n");
		expect(text.split("\n").filter((line) => !lines.includes(line))).toEqual([]);
	});

	it("is removed again without a trace", () => {
		const removed = removeServer(enterServer(text, host, start), host);
		expect(removed.trimEnd()).toBe(text.trimEnd());
		expect(removeServer(text, host)).toBe(text);
	});

	it("is added once, and replaces a different entry", () => {
		const other = enterServer(text, host, serverStart({ preset: "context-trim", locale: "zh", platform: "linux" }));
		const again = enterServer(other, host, start);
		expect(again).toContain("balanced");
		expect(again).not.toMatch(/context-trim|zh/);
		expect(enterServer(again, host, start)).toBe(again);
	});

	it("creates a missing file, and leaves it empty after removal", () => {
		const entered = enterServer("", host, start);
		expect(hasServer(entered, host)).toBe(true);
		expect(removeServer(entered, host).replace(/\s/g, "").replace("{}", "")).toBe("");
	});

	it("keeps line endings", () => {
		const windows = text.replaceAll("\n", "\r\n");
		const entered = enterServer(windows, host, start);
		expect(entered.replaceAll("\r\n", "")).not.toContain("\n");
	});

	it("refuses an invalid file, and reports that nothing was changed", () => {
		for (const broken of ["{", "= 1", "[", '"a'])
			expect(() => enterServer(broken, host, start)).toThrow(/cannot be changed: .*left unchanged/);
	});
});

describe("content on the lines of a removed server", () => {
	const own = '"palimpsest": {"command": "npx"}';
	it.each([
		[
			"another after it, below a comment",
			`{"mcpServers": {\n  // mine\n  ${own}, "other": {"command": "y"}\n}}\n`,
			'"other"',
		],
		["the end of the list, after a comment", `{"mcpServers": {\n  "other": {}, // mine\n  ${own} }\n}\n`, '"other"'],
		["another before its comma", `{"mcpServers": {"other": {} // mine\n , ${own}\n}}\n`, '"other"'],
		[
			"a comment on the next table",
			`[mcp_servers.palimpsest]\ncommand = "x"\n\n# mine\n\n[mcp_servers.other]\na = 1\n`,
			"# mine\n\n[",
		],
		["a comment at the end", '[mcp_servers.palimpsest]\ncommand = "x"\n# mine\n', "# mine"],
	])("stays: %s", (_, text, kept) => {
		const host = text.startsWith("{") ? claude : codex;
		const removed = removeServer(text, host);
		expect(hasServer(removed, host)).toBe(false);
		expect(removed).toContain("mine");
		expect(removed).toContain(kept);
	});

	it("is left unchanged when servers are listed twice, since the host reads the last and we find the first", () => {
		const first = '{"mcpServers": {"a": {}}, "mcpServers": {"b": {}}}';
		const second = `{"mcpServers": {"a": {}}, "mcpServers": {${own}}}`;
		for (const text of [first, second])
			expect(() => enterServer(text, claude, start)).toThrow(/cannot be changed: .*left unchanged/);
		expect(() => removeServer(second, claude)).toThrow(/cannot be changed: .*left unchanged/);
	});
});

describe("conflicting content", () => {
	it("is not overwritten: servers that are not an object", () => {
		expect(() => enterServer('{"mcpServers": ["a"]}', claude, start)).toThrow("`mcpServers` is not an object");
	});

	it("is not split: an inline table, or a header within a text", () => {
		for (const text of [
			'mcp_servers = { other = { command = "x" } }\n',
			'mcp_servers = { palimpsest = { command = "x" } }\n',
			'[mcp_servers]\npalimpsest = { command = "x" }\n',
			'mcp_servers.palimpsest.command = "x"\n',
		])
			expect(() => enterServer(text, codex, start), text).toThrow(
				/cannot be changed: `mcp_servers`, or a table in it, is written as an inline table .* headers such as \[mcp_servers\.name\]/,
			);
		const text = 'notes = """\n[mcp_servers.palimpsest]\n"""\n';
		expect(() => enterServer(text, codex, start)).toThrow("cannot be changed");
	});

	it("is found with quotes and spaces", () => {
		const text = '[mcp_servers . "palimpsest"]\ncommand = "x"\n[mcp_servers.palimpsest.env]\nA = "1"\n';
		expect(hasServer(text, codex)).toBe(true);
		expect(removeServer(text, codex)).toBe("");
	});
});

describe("the hosts", () => {
	const everywhere = (["darwin", "win32", "linux"] as const).map((platform) => ({
		platform,
		homeFolder: "/home/me",
		environment: {},
	}));

	it("have names of their own, and a file on each platform", () => {
		expect(new Set(hosts.map(({ name }) => name)).size).toBe(hosts.length);
		for (const where of everywhere)
			for (const host of hosts) expect(host.file(where)?.startsWith("/home/me"), host.name).toBe(true);
	});

	it("have a file in a project, or none", () => {
		const [where] = everywhere;
		const inProject = hosts.map((host) =>
			host.file({ ...where, platform: "linux", homeFolder: "/h", environment: {}, projectFolder: "/p" }),
		);
		expect(inProject.filter((file) => file !== undefined).length).toBeGreaterThan(6);
		expect(inProject.filter((file) => file !== undefined && !file.startsWith("/p"))).toEqual([]);
	});

	it.each(hosts.filter(isWritable).map((host) => [host.name, host] as const))("%s accepts the entry", (_, host) => {
		const entered = enterServer("", host, start);
		expect(hasServer(entered, host)).toBe(true);
		expect(entered).toMatch(/npx/);
	});

	it("start npx through a shell on Windows, where it is a script", () => {
		expect(serverStart({ platform: "win32" })).toEqual({
			command: "cmd",
			args: ["/c", "npx", "-y", "palimpsest-mcp"],
			env: {},
		});
	});
});
