import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { createKeys } from "../../src/proxy/keys.ts";
import { addRunning, listRunning, removeRunning } from "../../src/proxy/running.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { keys, startProxyTo } from "./upstream.ts";

let folder: string;
beforeEach(async () => {
	folder = join(await scratchFolder(), "running");
});

/** Changes the only entry as another process would have written it. */
async function change(fields: Readonly<Record<string, unknown>>): Promise<void> {
	const [name = ""] = await readdir(folder);
	const entry = JSON.parse(await readFile(join(folder, name), "utf8"));
	await writeFile(join(folder, name), JSON.stringify({ ...entry, ...fields }));
}

async function idOfEndedProcess(): Promise<number> {
	const child = spawn(process.execPath, ["-e", ""]);
	await once(child, "exit");
	return child.pid as number;
}

describe("the list of running proxies", () => {
	it("has each proxy with its address, process and program, the latest first, until it is removed", async () => {
		const [first, second] = [await startProxyTo("http://127.0.0.1:9"), await startProxyTo("http://127.0.0.1:9")];
		await addRunning({ address: first.url, keys }, folder);
		await new Promise((resolve) => setTimeout(resolve, 2));
		await addRunning({ address: second.url, program: "claude", keys }, folder);
		const about = { pid: process.pid, keys, started: expect.any(Number) };
		const [one, other] = [
			{ address: first.url, ...about },
			{ address: second.url, program: "claude", ...about },
		];
		expect(await listRunning(folder)).toEqual([other, one]);
		await removeRunning(second.url, folder);
		expect(await listRunning(folder)).toEqual([one]);
		await removeRunning(first.url, folder);
		expect([await listRunning(folder), await readdir(folder)]).toEqual([[], []]);
	});

	it.each([
		["whose process has ended", async () => ({ pid: await idOfEndedProcess() })],
		["whose process is another one by now", async () => ({ pid: process.ppid })],
	])("loses a proxy %s, though another proxy answers at its address", async (_, fields) => {
		const proxy = await startProxyTo("http://127.0.0.1:9");
		await addRunning({ address: proxy.url, keys }, folder);
		await change(await fields());
		expect(await listRunning(folder)).toEqual([]);
		expect(await readdir(folder)).toEqual([]);
	});

	it("loses a proxy if its port is closed or has another server", async () => {
		const other = createServer((_, response) => response.end("{}"));
		await once(other.listen(0, "127.0.0.1"), "listening");
		const address = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
		await addRunning({ address, keys }, folder);
		expect(await listRunning(folder)).toEqual([]);
		expect(await readdir(folder)).toEqual([]);
		await new Promise((resolve) => other.close(resolve));
		await addRunning({ address, keys }, folder);
		expect(await listRunning(folder)).toEqual([]);
		expect(await readdir(folder)).toEqual([]);
	});

	it("believes no server that cannot prove that it is the proxy of the entry, whatever it answers", async () => {
		const proxy = await startProxyTo("http://127.0.0.1:9", { keys: createKeys() });
		await addRunning({ address: proxy.url, keys }, folder);
		expect([await listRunning(folder), await readdir(folder)]).toEqual([[], []]);
	});

	it("takes no more than a small answer, and does not wait for its end", async () => {
		const endless = createServer((_, response) => {
			const goOn = () => void (response.write("x".repeat(65_536)) ? setImmediate(goOn) : response.once("drain", goOn));
			response.on("error", () => {});
			goOn();
		});
		await once(endless.listen(0, "127.0.0.1"), "listening");
		const left = new Promise((resolve) => endless.on("connection", (socket) => socket.on("close", resolve)));
		await addRunning({ address: `http://127.0.0.1:${(endless.address() as AddressInfo).port}`, keys }, folder);
		expect(await listRunning(folder)).toEqual([]);
		await left;
		endless.closeAllConnections();
		await new Promise((resolve) => endless.close(resolve));
	});

	it.skipIf(process.platform === "win32")("can be read by this user alone", async () => {
		await addRunning({ address: "http://127.0.0.1:9", keys }, folder);
		const [name = ""] = await readdir(folder);
		const modes = await Promise.all([folder, join(folder, name)].map(async (one) => (await stat(one)).mode & 0o777));
		expect(modes).toEqual([0o700, 0o600]);
	});

	it("keeps a proxy that does not answer now, and leaves it out", async () => {
		const silent = createServer(() => {});
		await once(silent.listen(0, "127.0.0.1"), "listening");
		await addRunning({ address: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`, keys }, folder);
		expect(await listRunning(folder)).toEqual([]);
		expect(await readdir(folder)).toHaveLength(1);
		silent.closeAllConnections();
		await new Promise((resolve) => silent.close(resolve));
	});

	it("leaves out the proxies of other machines that share the folder, and keeps their entries", async () => {
		const proxy = await startProxyTo("http://127.0.0.1:9");
		await addRunning({ address: proxy.url, keys }, folder);
		await change({ machine: "another.example", pid: await idOfEndedProcess() });
		expect(await listRunning(folder)).toEqual([]);
		expect(await readdir(folder)).toHaveLength(1);
	});

	it.each([
		["damaged", "{"],
		["of another form", '{"address":"http://127.0.0.1:8787"}'],
		["of an address beyond loopback", '{"address":"http://192.0.2.1:80","pid":1,"started":1,"machine":"x"}'],
	])("ignores an entry that is %s, and a folder that is absent", async (_, text) => {
		expect(await listRunning(folder)).toEqual([]);
		const proxy = await startProxyTo("http://127.0.0.1:9");
		await addRunning({ address: proxy.url, keys }, folder);
		await writeFile(join(folder, "another.json"), text);
		expect(await listRunning(folder)).toMatchObject([{ address: proxy.url }]);
	});
});
