import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { builtCli } from "../support/built-cli.ts";
import { runCli } from "../support/run-cli.ts";
import { runHere } from "../support/run-here.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
});

/** A program of Node, as the command that is run. */
const node = (program: string) => ["--", process.execPath, "-e", program];
const run = (parameters: readonly string[], input?: string) =>
	(input === undefined ? runHere : runCli)(["run", "--set", "locale=en", ...parameters], {
		folder,
		...(input === undefined ? {} : { input }),
		environment: { PALIMPSEST_ARCHIVE: join(folder, "archive") },
	});

describe("a command run through palimpsest", () => {
	it("keeps its output and exit code, without comment on success", async () => {
		expect(await run(node("process.stdout.write('fine')"))).toMatchObject({ code: 0, text: "fine", lines: [] });
		const failed = await run(node("console.log('oh'); process.exit(7)"));
		expect(failed).toMatchObject({ code: 7, text: "oh\n" });
		expect(failed.lines).toEqual([expect.stringMatching(/^palimpsest: Exit code 7 after \d+\.\d s\.$/)]);
	});

	it("gets its arguments unchanged, without a shell, and our standard input", async () => {
		const { text } = await runHere(
			["run", "--", process.execPath, "-p", "process.argv.slice(1).join('|')", "a b", "$HOME", "*"],
			{
				folder,
			},
		);
		expect(text).toBe("a b|$HOME|*\n");
		expect((await run(node("process.stdin.pipe(process.stdout)"), "through")).text).toBe("through");
	});

	it.skipIf(process.platform === "win32")("gets both outputs in the order they were written", async () => {
		const program = "for (let i = 0; i < 2000; i += 1) require('fs').writeSync(1 + (i % 2), i + '\\n')";
		const { text } = await run(["--max-tokens", "100000", ...node(program)]);
		expect(text).toBe(Array.from({ length: 2_000 }, (_, index) => `${index}\n`).join(""));
	});

	it("names the reference of its output where room is short", async () => {
		const { text } = await run(["--max-tokens", "200", ...node("for (let i = 0; i < 5000; i += 1) console.log(i)")]);
		expect(text.split("\n", 1)[0]).toMatch(/, ref=[0-9a-z]{12}\]$/);
	});

	it("gets a long output shortened, under a line with exit code, time and reference", async () => {
		const program =
			"for (let i = 1; i < 9000; i += 1) console.log(i === 5000 ? 'FAIL it adds' : 'ok ' + i); process.exitCode = 3";
		const { code, text, lines } = await run(["--max-tokens", "300", ...node(program)]);
		expect(code).toBe(3);
		expect(lines).toEqual([]);
		expect(text).toContain("\nFAIL it adds\n");
		const [, ref = ""] =
			/^\[Exit code 3 after \d+\.\d s\. Output shortened: .* of 8999 lines .*\. All of it: .+ recall (\w+)\]\nok 1\n/.exec(
				text,
			) ?? [];
		const environment = { PALIMPSEST_ARCHIVE: join(folder, "archive") };
		const recalled = await runHere(["recall", ref, "--lines", "5000"], { folder, environment });
		expect(recalled.text).toBe("FAIL it adds\n");
	});

	it.each([
		["compiling module N of 3000 ok", 3_000],
		["Uploaded asset N", 400_000],
	] as const)("shows the only failure of a failing run: %s", async (style, lines) => {
		const failure = "foo.c:33:5: error: undeclared identifier bar";
		const program = `
			const lines = Array.from({ length: ${lines} }, (_, index) => ${JSON.stringify(style)}.replace("N", index));
			lines[${Math.floor((lines * 2) / 3)}] = ${JSON.stringify(failure)};
			process.stdout.write(lines.join("\\n"));
			process.exitCode = 1`;
		for (const most of lines > 3_000 ? ["500"] : ["500", "8000"]) {
			const { code, text } = await run(["--max-tokens", most, ...node(program)]);
			expect(code).toBe(1);
			expect(text).toContain(failure);
		}
	});

	it("shows more of the failures of a failing command than of a passing one", async () => {
		const program = (exitCode: number) =>
			node(
				`for (let i = 0; i < 3000; i += 1) console.log(i % 20 === 9 && i < 2800 ? "could not read item " + i : "const a" + i + " = copy(b" + i + ");"); process.exitCode = ${exitCode}`,
			);
		const failures = async (exitCode: number) =>
			(await run(["--max-chars", "4000", ...program(exitCode)])).text.match(/could not read/g)?.length ?? 0;
		expect(await failures(1)).toBeGreaterThan(await failures(0));
	});

	it.skipIf(process.platform === "win32")(
		"names a command that reads the original, wherever this program is installed",
		async () => {
			const { text } = await run(["--max-chars", "1000", ...node("console.log('line\\n'.repeat(900))")]);
			const [, command = ""] = /All of it: (.+ recall \w+)\]/.exec(text) ?? [];
			expect(command).not.toMatch(/^palimpsest /);
			const environment = { ...cleanEnvironment(folder), PALIMPSEST_ARCHIVE: join(folder, "archive") };
			const whole = execFileSync("/bin/sh", ["-c", `${command} --all`], {
				env: environment,
				cwd: folder,
				encoding: "utf8",
			});
			expect(whole).toBe(`${"line\n".repeat(900)}\n`);
		},
	);

	it.skipIf(process.platform === "win32")("uses its own name when the shell finds it", async () => {
		const bin = join(folder, "bin");
		await mkdir(bin);
		await writeFile(join(bin, "palimpsest"), "");
		const environment = { PATH: `${bin}:${process.env.PATH}`, PALIMPSEST_ARCHIVE: join(folder, "archive") };
		const program = node("console.log('line\\n'.repeat(900))");
		const { text } = await runHere(["run", "--max-chars", "1000", ...program], { folder, environment });
		expect(text).toMatch(/: palimpsest recall \w+\]/);
	});

	it.each([
		["--max-chars", "10"],
		["--max-tokens", "5"],
	])("does not start when %s %s leaves no room for a marker, and names the minimum", async (option, given) => {
		const program = node(
			"require('fs').writeFileSync('begun', ''); console.log('word '.repeat(9000)); process.exitCode = 3",
		);
		const { code, text, lines } = await run([option, given, ...program]);
		expect([code, text]).toEqual([1, ""]);
		await expect(readFile(join(folder, "begun"))).rejects.toThrow();
		const [, least = ""] =
			new RegExp(`Expected ${option} .* smallest that works here is (\\d+)`).exec(lines.join("\n")) ?? [];
		expect(await run([option, least, ...program])).toMatchObject({
			code: 3,
			text: expect.stringMatching(/^\[Exit code 3 after \d+\.\d s\. shortened: \d+ characters left out, ref=\w{12}\]/),
		});
		expect((await run([option, `${Number(least) - 1}`, ...program])).code).toBe(1);
	});

	it("exits with 127 when it is missing, with 126 when it is not executable", async () => {
		const absent = await run(["--", "no-such-command-here"]);
		expect(absent).toMatchObject({ code: 127, text: "" });
		expect(absent.lines).toEqual(["palimpsest: cannot run no-such-command-here: there is no such command"]);
		await writeFile(join(folder, "plain.txt"), "no program");
		expect(await run(["--", join(folder, "plain.txt")])).toMatchObject({ code: 126, text: "" });
	});

	it("passes its output and exit code through when the archive is not writable", async () => {
		const where = join(folder, "broken");
		await mkdir(where);
		await writeFile(join(where, "default"), "a file where a folder should be");
		const program = "console.log('word '.repeat(9000)); process.exitCode = 4";
		const { code, text, lines } = await run(["--archive", where, "--max-tokens", "50", ...node(program)]);
		expect([code, text]).toEqual([4, `${"word ".repeat(9_000)}\n`]);
		expect(lines[0]).toMatch(/\[archive_unavailable\] .* Shown whole\.$/);
	});

	it("that leaves a process behind is not waited for forever", async () => {
		const program = `
			const { spawn } = require('child_process');
			const left = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 600_000)'], { stdio: 'inherit', detached: true });
			require('fs').writeFileSync('left', String(left.pid));
			left.unref();
			console.log('started')`;
		expect(await run(node(program))).toMatchObject({ code: 0, text: "started\n" });
		// It is still there, and would have been longer than a test may last.
		process.kill(Number(await readFile(join(folder, "left"), "utf8")), "SIGKILL");
	});
});

describe.skipIf(process.platform === "win32")("signals", () => {
	const start = (program: string): ChildProcess =>
		spawn(process.execPath, [builtCli, "run", "--set", "locale=en", "--max-tokens", "150", ...node(program)], {
			cwd: folder,
			env: cleanEnvironment(folder),
			stdio: ["ignore", "pipe", "pipe"],
		});
	const waiting = "require('fs').writeFileSync('ready', ''); setInterval(() => {}, 1000);";
	const isReady = async () => {
		const { access } = await import("node:fs/promises");
		for (;;) {
			const there = await access(join(folder, "ready")).then(
				() => true,
				() => false,
			);
			if (there) return;
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
	};

	it.each([
		["SIGINT", 130],
		["SIGTERM", 143],
		["SIGHUP", 129],
	] as const)("%s ends the command, and the exit code is that of a shell: %i", async (signal, expected) => {
		const child = start(waiting);
		await isReady();
		child.kill(signal);
		const [code, ourSignal] = await once(child, "close");
		expect([code, ourSignal]).toEqual([expected, null]);
	});

	it("are handled by the command, and its further output is shown", async () => {
		const program = `process.on('SIGTERM', () => { console.log('cleaned up ' + 'x '.repeat(400)); process.exit(5); }); ${waiting}`;
		const child = start(program);
		let text = "";
		child.stdout?.on("data", (piece: Buffer) => {
			text += piece.toString("utf8");
		});
		await isReady();
		child.kill("SIGTERM");
		const [code] = await once(child, "close");
		expect(code).toBe(5);
		expect(text).toMatch(/^\[Exit code 5 after /);
		expect(text).toContain("cleaned up");
	});

	it("that end the command are named in the notice", async () => {
		const child = start(`console.log('word '.repeat(900)); ${waiting}`);
		let text = "";
		child.stdout?.on("data", (piece: Buffer) => {
			text += piece.toString("utf8");
		});
		await isReady();
		child.kill("SIGTERM");
		await once(child, "close");
		expect(text).toMatch(/^\[Ended by SIGTERM \(exit code 143\) after \d+\.\d s\. Output shortened: /);
	});
});
