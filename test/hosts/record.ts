import { spawn } from "node:child_process";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { writeProject } from "../support/scripted-session.ts";
import { startStandInProvider } from "../support/stand-in-provider.ts";
import { type Frame, joinFrames } from "./animated-png.ts";
import { installProgram, projectFolder } from "./install-programs.ts";
import { programs } from "./programs.ts";
import { quietEnvironment, sessionPrompt } from "./run-program.ts";

// Records `palimpsest launch claude` and its live page as docs/launch.png: an animated PNG, which READMEs show.

const script = { toolTurns: 34, fileChars: 12_000 };
const size = { width: 960, height: 832 };
/** Wide enough for four figures side by side, and drawn as large as it is shown. */
const pageSize = { viewport: { width: 1200, height: 840 }, deviceScaleFactor: 0.8 };
const frameMs = 2_000;
const model = "claude-sonnet-5";
const command = "palimpsest launch claude";

const program = programs.find(({ name }) => name === "claude");
if (!program) throw new Error("Expected Claude Code among the programs.");
const installed = installProgram(program);
if (installed.kind === "absent") throw new Error(`Claude Code was not installed: ${installed.reason}.`);

const home = await realpath(await mkdtemp(join(tmpdir(), "palimpsest-record-")));
const provider = await startStandInProvider({ script, delayMs: 500 });
const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
	args: ["--no-sandbox", "--disable-gpu", "--no-first-run"],
});
try {
	const project = join(home, "webshop");
	await writeProject(project, script);
	const { environment } = program.configure({ origin: provider.origin, home, isAlone: false });
	const parameters = program.parameters(sessionPrompt, model).map((word) => `'${word}'`);
	const line = [process.execPath, join(projectFolder, "dist/cli.js"), "launch", program.command, "--", ...parameters];
	const env = { ...quietEnvironment(home, installed.binFolder), ...environment };
	// `script` gives the program a terminal.
	const child = spawn("script", ["-qefc", line.join(" "), "/dev/null"], { cwd: project, env });
	let output = "";
	child.stdout.on("data", (chunk: Buffer) => {
		output += chunk.toString("utf8");
	});
	const ended = new Promise<number | null>((resolve) => child.on("exit", resolve));
	const frames = await filmSession(browser, () => output, ended);
	if ((await ended) !== 0) throw new Error(`Expected the session to end well:\n${output}`);
	const file = join(projectFolder, "docs/launch.png");
	const picture = joinFrames(frames);
	await writeFile(file, picture);
	process.stdout.write(`${file}: ${frames.length} frames, ${Math.round(picture.byteLength / 1000)} kB\n`);
} finally {
	await browser.close();
	await provider.close();
	await rm(home, { recursive: true, force: true, maxRetries: 5 });
}

/** One picture every two seconds while the session runs, and one of its end that stays. */
async function filmSession(browser: Browser, output: () => string, ended: Promise<unknown>) {
	const stage = await (await browser.newContext({ viewport: size })).newPage();
	const live = await (await browser.newContext(pageSize)).newPage();
	const frames: Frame[] = [];
	let isRunning = true;
	void ended.then(() => {
		isRunning = false;
	});
	const film = async (milliseconds: number) => {
		const shown = live.url().startsWith("http") ? await live.screenshot() : undefined;
		await stage.setContent(stageHtml(output(), shown));
		frames.push({ png: await stage.screenshot(), milliseconds });
	};
	let opened: string | undefined;
	while (isRunning) {
		const [url] = /http:\/\/127\.0\.0\.1:\d+\/palimpsest\/\?key=[\w-]+(?=\s)/.exec(output()) ?? [];
		if (url !== undefined && opened !== url) await live.goto(url);
		opened = url;
		await film(frameMs);
		await new Promise((resolve) => setTimeout(resolve, frameMs));
	}
	// The page says that the proxy has ended.
	await live.locator("html[data-proxy=ended]").waitFor({ state: "attached" });
	await film(5_000);
	return chosenOf(frames);
}

/** The end comes first, since some viewers show the first frame alone; then three moments on the way there. */
function chosenOf(frames: readonly Frame[]): readonly Frame[] {
	const moments = [1 / 4, 1 / 2, 3 / 4].map((share) => frames[Math.floor(share * (frames.length - 1))]);
	return [frames.at(-1), ...moments].filter((frame) => frame !== undefined);
}

/** The terminal above, the live page below. */
function stageHtml(output: string, live: Buffer | undefined): string {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences of terminals begin with one
	const text = output.replace(/\u001b(?:\[[0-9;?]*[A-Za-z]|\][^\u0007]*\u0007|[=>])/g, "").replaceAll("\r", "");
	const escaped = text
		.replace(/(?<=\?key=)[\w-]+/g, "…")
		.replaceAll("&", "&amp;")
		.replaceAll("<", "&lt;")
		.trim();
	const picture = live === undefined ? "" : `<img src="data:image/png;base64,${live.toString("base64")}">`;
	return `<style>
		body { margin: 0; background: #fff; }
		pre { margin: 0; height: 160px; padding: 14px 18px; box-sizing: border-box; background: #16181d; color: #e8e8e8;
			font: 15px/1.5 monospace; white-space: pre-wrap; overflow: hidden; }
		b { color: #7ee787; font-weight: normal; }
		img { display: block; width: ${size.width}px; }
	</style><pre><b>$</b> ${command}
${escaped}</pre>${picture}`;
}
