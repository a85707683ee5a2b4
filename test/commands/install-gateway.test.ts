import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { builtCli } from "../support/built-cli.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const smallServer = path.resolve(import.meta.dirname, "../mcp/gateway/small-server.js");

let folder: string;
let file: string;
beforeEach(async () => {
	folder = await scratchFolder();
	file = path.join(folder, ".config", "Claude", "claude_desktop_config.json");
	await mkdir(path.dirname(file), { recursive: true });
});
const environment = {
	PATH: "/nowhere",
	XDG_CONFIG_HOME: "",
	XDG_STATE_HOME: "",
	APPDATA: "",
	CODEX_HOME: "",
	COPILOT_HOME: "",
};
const run = (...parameters: string[]) => runHere(parameters, { folder, environment });

const entered = (servers: object) => `{\n\t"mcpServers": ${JSON.stringify(servers)},\n\t"other": [1.0]\n}\n`;
const small = { command: process.execPath, args: [smallServer], env: { KEY: "secret" } };
const read = async () => JSON.parse(await readFile(file, "utf8")).mcpServers;

describe.skipIf(process.platform !== "linux")("palimpsest install --gateway", () => {
	it("puts the gateway before every server with a command, and uninstall brings back every byte", async () => {
		const signedIn = { url: "https://example.org/mcp", oauth: { clientId: "a" } };
		const text = entered({ small, web: signedIn, odd: {}, bare: { command: "x" } });
		await writeFile(file, text);
		const installed = await run("install", "claude-desktop", "--gateway");
		expect(installed.lines.join("\n")).toContain("left odd unchanged: it has no command");
		expect(installed.lines.join("\n")).toMatch(/The entry of `web` cannot be changed: the host signs in by `oauth`/);
		expect(installed.text).toContain('"env":{"…":"…"}');
		expect(installed.text).toContain('"small":{"command":');
		expect(installed.text).not.toContain("secret");
		const servers = await read();
		const named = (name: string) => [builtCli, "gateway", "--name", expect.stringMatching(`^${name}@[0-9a-f]{8}$`)];
		expect(servers.small).toEqual({ ...small, args: [...named("small"), process.execPath, smallServer] });
		expect(servers.bare).toEqual({ command: process.execPath, args: [...named("bare"), "x"] });
		expect(await readFile(file, "utf8")).toContain(`"${process.execPath}", "${smallServer}"`);
		expect((await run("install", "claude-desktop", "--gateway")).lines.join()).toContain("nothing to change");
		expect((await run("install", "--list")).text).toMatch(/claude-desktop .*behind the gateway: small, bare/);
		await run("uninstall", "claude-desktop", "--gateway", "bare");
		expect((await read()).bare).toEqual({ command: "x" });
		await run("uninstall", "claude-desktop");
		expect(await readFile(file, "utf8")).toBe(text);
	});

	it("changes the options of wrapped entries when run again, and keeps those of a person", async () => {
		const text = entered({ small });
		await writeFile(file, text);
		await run("install", "claude-desktop", "--gateway", "--locale", "fr");
		const withOwn = (await readFile(file, "utf8")).replace('"gateway", ', '"gateway", "--max-tokens", "900", ');
		await writeFile(file, withOwn);
		await run("install", "claude-desktop", "--gateway", "--defer");
		const { args } = (await read()).small;
		expect(args.slice(2)).toEqual([
			...["--max-tokens", "900", "--name", expect.stringMatching(/^small@/), "--defer", "unused"],
			...[process.execPath, smallServer],
		]);
		expect((await run("install", "claude-desktop", "--gateway", "--defer")).lines.join()).toContain(
			"nothing to change",
		);
		await run("uninstall", "claude-desktop", "--gateway");
		expect(await readFile(file, "utf8")).toBe(text);
		expect((await run("install", "claude-desktop", "--defer")).code).toBe(2);
	});

	it("puts the gateway before an address, and uninstall brings back every byte", async () => {
		const web =
			'{ "type" : "http",\n "url": "https://example.org/\\u006dcp", "headers":{ "X-Key": "secret" }, "timeout": 1e1 }';
		const text = `{ // mine\n"mcpServers": { "web": ${web}, "plain": {"serverUrl":"https://example.org"} } }`;
		await writeFile(file, text);
		const { text: shown } = await run("install", "claude-desktop", "--gateway");
		expect(shown).not.toContain("secret");
		const written = await readFile(file, "utf8");
		const { web: entry, plain } = JSON.parse(written.replace("// mine", "")).mcpServers;
		expect(entry).toEqual({
			...{ type: "stdio", command: process.execPath, env: { "X-Key": "secret" }, timeout: 10 },
			args: [
				...[builtCli, "gateway", "--name", expect.stringMatching(/^web@/), "--header", "X-Key=X-Key"],
				...["--was", "url,http", "https://example.org/mcp"],
			],
		});
		expect(plain.args.slice(-3)).toEqual(["--was", "serverUrl", "https://example.org"]);
		expect((await run("install", "claude-desktop", "--gateway")).lines.join()).toContain("nothing to change");
		await writeFile(file, JSON.stringify(JSON.parse(written.replace("// mine", "")), null, 2));
		await run("uninstall", "claude-desktop", "--gateway", "plain");
		expect((await read()).plain).toEqual({ serverUrl: "https://example.org" });
		await writeFile(file, written);
		await run("uninstall", "claude-desktop");
		expect(await readFile(file, "utf8")).toBe(text);
	});

	it("refuses a host whose file is not there, and names the file", async () => {
		const { code, lines } = await run("install", "claude-desktop", "--gateway");
		expect([code, lines]).toEqual([1, [expect.stringContaining(`there is no ${file}.`)]]);
	});

	it("leaves an entry that cannot be changed, changes the others, and reads a file with a byte order mark", async () => {
		const odd = { command: "x", args: "y" };
		await writeFile(file, `\uFEFF${entered({ odd, small })}`);
		const { code, lines } = await run("install", "claude-desktop", "--gateway");
		expect([code, lines[0]]).toEqual([0, expect.stringContaining("The entry of `odd` cannot be changed")]);
		expect((await run("install", "--list")).text).toMatch(/claude-desktop +not installed .*gateway: small\n/);
		expect((await run("install", "claude-desktop", "--gateway", "odd")).code).not.toBe(0);
	});

	it("names the servers, and refuses unknown ones", async () => {
		await writeFile(file, entered({ small, bare: { command: "x" } }));
		await run("install", "claude-desktop", "--gateway", "bare");
		expect((await read()).small).toEqual(small);
		const refused = await run("install", "claude-desktop", "--gateway", "smal");
		expect(refused.code).toBe(2);
		expect(refused.lines.join("\n")).toContain("Did you mean small?");
	});

	it("adds no tool where the host has our server, which reads the same archive", async () => {
		await writeFile(file, entered({ small }));
		await run("install", "claude-desktop", "--archive", path.join(folder, "kept"));
		await run("install", "claude-desktop", "--gateway", "small");
		const archive = ["--archive", path.join(folder, "kept")];
		expect((await read()).small.args.slice(1, -2).toSpliced(1, 2)).toEqual([
			"gateway",
			"--recall",
			"server",
			...archive,
		]);
	});

	it("makes an entry that starts, as doctor says", async () => {
		const cwd = path.dirname(smallServer);
		await writeFile(file, entered({ small: { ...small, args: [path.basename(smallServer), "--only", "-x"], cwd } }));
		await run("install", "claude-desktop", "--gateway");
		const { text } = await run("doctor", "--http", "127.0.0.1:0", "--archive", "none");
		// An option behind the command is its own.
		expect(text).toMatch(/gateway +claude-desktop small: 1\d tools/);
		const ends = { command: process.execPath, args: ["-e", "process.exit(3)"] };
		await writeFile(file, entered({ gone: { command: "/no/such" }, ends }));
		await run("install", "claude-desktop", "--gateway");
		expect((await run("doctor", "--http", "127.0.0.1:0")).text).toMatch(
			/FAILED +gateway +claude-desktop gone: fails \(it ended with exit code 127\), claude-desktop ends: .* exit code 3\)/,
		);
		const refused = await run("install", "pi", "--gateway");
		expect([refused.code, refused.lines[0]]).toEqual([2, expect.stringContaining("pi has no MCP servers")]);
	});

	it("prints no value of an entry, in any place, of any spelling, also in errors", async () => {
		let marks = 0;
		const mark = () => {
			marks += 1;
			return `MARK${marks}x`;
		};
		const value = fc.constantFrom(
			() => mark(),
			() => `--token=${mark()}`,
			() => `a "${mark()}" b`,
			() => `https://user:${mark()}@host.example/${mark()}?key=${mark()}`,
			() => `{"key":"${mark()}"}`,
		);
		const list = fc.array(value, { maxLength: 4 });
		const variables = fc.array(value, { maxLength: 3 });
		const entry = fc.record(
			{ command: value, args: list, env: variables, headers: variables, url: value, cwd: value, other: value },
			{ requiredKeys: [] },
		);
		const written = (one: unknown): unknown => {
			if (typeof one === "function") return one();
			if (Array.isArray(one)) return one.map(written);
			if (typeof one !== "object" || one === null) return one;
			const named = (of: unknown) =>
				Object.fromEntries((of as unknown[]).map((inner, index) => [`PAT_${mark()}_${index}`, written(inner)]));
			return Object.fromEntries(
				Object.entries(one).map(([name, of]) => [name, /env|headers/.test(name) ? named(of) : written(of)]),
			);
		};
		const damage = fc.constantFrom(
			(text: string) => text,
			(text: string) => text.replace('"args":', '"args": null, "args":'),
			(text: string) => text.replace('"args":', `// ${mark()}\n"args":`),
			(text: string) => text.slice(0, -3),
		);
		await fc.assert(
			fc.asyncProperty(
				fc.array(entry, { minLength: 1, maxLength: 4 }),
				fc.constantFrom(undefined, "\t"),
				damage,
				async (all, indent, hurt) => {
					const mcpServers = Object.fromEntries(all.map((one, index) => [`s${index}`, written(one)]));
					const text = hurt(JSON.stringify({ mcpServers, other: { key: mark() } }, null, indent));
					await writeFile(file, text);
					const printed: string[] = [];
					for (const parameters of [
						["install", "claude-desktop", "--gateway", "--dry-run"],
						["install", "claude-desktop", "--gateway", "s0"],
						["install", "claude-desktop", "--gateway"],
						["install", "claude-desktop"],
						["install"],
						["uninstall", "claude-desktop", "--gateway", "s0"],
						["uninstall", "claude-desktop"],
					]) {
						const { text: out, lines } = await run(...parameters);
						printed.push(out, ...lines);
					}
					expect(printed.join("\n").match(/MARK\d+x/g)).toBeNull();
					expect(printed.join("\n")).not.toMatch(/\[internal\]/);
					expect(await readFile(file, "utf8")).toBe(text);
				},
			),
			{ numRuns: 8 },
		);
		expect(marks).toBeGreaterThan(100);
	});

	it.each([
		["args twice", '{"command":"x","args":["a"],"args":null}', "are not a list|appears twice"],
		["args twice, the other way", '{"command":"x","args":null,"args":["a"]}', "`args` appears twice"],
		["a command twice", '{"command":"x","command":"y"}', "`command` appears twice"],
		["an address as its command", '{"command":"https://example.org/mcp"}', "its command is an address"],
		[
			"an address as its command, with arguments",
			'{"command":"https://a.example","args":["-x"]}',
			"its command is an address",
		],
		["a number among its arguments", '{"command":"x","args":[1]}', "it has no command"],
		["no word at all", '{"command":[]}', "it has no command"],
	])("refuses by name an entry with %s, and changes the others", async (_, odd, reason) => {
		const text = `{"mcpServers":{"odd":${odd},"small":${JSON.stringify(small)}}}\n`;
		await writeFile(file, text);
		const { code, lines } = await run("install", "claude-desktop", "--gateway");
		expect([code, lines[0]]).toEqual([0, expect.stringMatching(new RegExp(`odd.*(?:${reason})`))]);
		expect(await readFile(file, "utf8")).toContain(`{"mcpServers":{"odd":${odd},"small":{"command":"`);
		expect((await read()).small.args).toContain("gateway");
		await run("uninstall", "claude-desktop", "--gateway");
		expect(await readFile(file, "utf8")).toBe(text);
	});

	it("leaves by name an entry behind the gateway that has `args` twice", async () => {
		const text = '{"mcpServers":{"odd":{"command":"palimpsest","args":null,"args":["gateway","x"]}}}';
		await writeFile(file, text);
		const { code, lines } = await run("uninstall", "claude-desktop", "--gateway");
		expect([code, lines[0]]).toEqual([0, expect.stringContaining("`odd` cannot be changed: `args` appears twice")]);
		expect(await readFile(file, "utf8")).toBe(text);
	});
});
