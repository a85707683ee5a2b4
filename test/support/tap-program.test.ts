import { execFile } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, it } from "vitest";
import { tapProgram } from "../hosts/tap-program.ts";
import { startRewritingProxy } from "./rewriting-proxy.ts";
import { scratchFolder } from "./scratch-folder.ts";
import { playSession } from "./session-player.ts";
import { startStandInProvider } from "./stand-in-provider.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
	for (const close of closing.splice(0).reverse()) await close();
});

/** A program that prints its base URL, behind a tap. */
async function tapped(baseUrl: string) {
	const home = await scratchFolder();
	const binFolder = join(home, "bin");
	await mkdir(binFolder);
	await writeFile(join(binFolder, "agent"), '#!/bin/sh\necho "$1 $ANTHROPIC_BASE_URL"\n');
	await chmod(join(binFolder, "agent"), 0o755);
	const tap = await tapProgram({ home, command: "agent", binFolder });
	closing.push(tap.close);
	const env = { PATH: process.env.PATH ?? "", ANTHROPIC_BASE_URL: baseUrl };
	const { stdout } = await promisify(execFile)(join(tap.binFolder, "agent"), ["first"], { env });
	const [argument, base = ""] = stdout.trim().split(" ");
	expect(argument).toBe("first");
	return { tap, base };
}

const script = { toolTurns: 5, fileChars: 500 };

async function start() {
	const provider = await startStandInProvider({ script, thinking: { account: "newer" } });
	closing.push(provider.close);
	return provider;
}

it.skipIf(process.platform === "win32")(
	"A tap passes everything on, and counts nothing in a clean session",
	async () => {
		const provider = await start();
		const { tap, base } = await tapped(provider.origin);
		expect(await playSession({ baseUrl: base, script })).toMatchObject({ isRight: true, errors: [] });
		expect([tap.errors(), tap.repairs()]).toEqual([0, 0]);
		expect(new Set(provider.paths)).toEqual(new Set(["POST /v1/messages?beta=true"]));
	},
);

it.skipIf(process.platform === "win32")("A tap counts the errors of the program and its repairs", async () => {
	const provider = await start();
	const proxy = await startRewritingProxy(provider.origin, (messages, request) =>
		messages.map((message, index) => {
			if (index !== 2 || request < 4) return message;
			const [result] = message.content as Readonly<Record<string, unknown>>[];
			return { ...message, content: [{ ...result, content: "[cut]" }] };
		}),
	);
	closing.push(proxy.close);
	const { tap, base } = await tapped(proxy.origin);
	const played = await playSession({ baseUrl: base, script, repairs: "all" });
	expect(played).toMatchObject({ isRight: true, repairs: 1 });
	expect([tap.errors(), tap.repairs()]).toEqual([1, 1]);
});
