import { describe, expect, test } from "vitest";
import { PalimpsestError } from "../../../src/errors.ts";
import { serveHttp } from "../../../src/mcp/http/server.ts";
import { parseAddress } from "../../../src/operations/http/address.ts";
import { send, start, stubPolicySource } from "../../mcp/http/harness.ts";

describe("parseAddress", () => {
	test.each([
		[true, "127.0.0.1", 8765],
		["8765", "127.0.0.1", 8765],
		["0", "127.0.0.1", 0],
		[":8765", "127.0.0.1", 8765],
		["127.0.0.1:9000", "127.0.0.1", 9000],
		["127.0.0.1", "127.0.0.1", 8765],
		["[::1]:9000", "::1", 9000],
		["[::1]", "::1", 8765],
		["::1", "::1", 8765],
		["localhost:9000", "localhost", 9000],
		["LocalHost", "localhost", 8765],
		["0.0.0.0:65535", "0.0.0.0", 65_535],
		["box.example:1", "box.example", 1],
	] as const)("reads %s", (text, host, port) => {
		expect(parseAddress(text)).toEqual({ host, port });
	});

	test.each([
		"",
		":",
		"65536",
		":99999",
		"localhost:",
		"localhost:x",
		"localhost:-1",
		"127.0.0.1:123456",
		"http://127.0.0.1:8765",
		"[::1",
		"[localhost]:80",
		"[]:80",
		"a:b:c",
		"localhost :80",
		"localhost:80/mcp",
	])("refuses %j", (text) => {
		expect(() => parseAddress(text)).toThrow(PalimpsestError);
		expect(() => parseAddress(text)).toThrow(JSON.stringify(text));
	});
});

function serveOn(host: string, port = 0) {
	return serveHttp({ address: { host, port }, policySource: stubPolicySource(), log() {} });
}

test.each(["0.0.0.0", "192.168.1.1", "::", "fe80::1", "example.com", "127.1", "128.0.0.1", "localhost.example"])(
	"refuses to serve on %s",
	async (host) => {
		const refusal = serveOn(host);
		await expect(refusal).rejects.toMatchObject({ name: "PalimpsestError", code: "invalid_argument" });
		await expect(refusal).rejects.toThrow(/needs authentication/);
	},
);

test.each(["127.0.0.1", "127.0.0.2", "localhost"])("serves on %s, and accepts that name as its own", async (host) => {
	const service = await serveOn(host).catch((error) => {
		// Not every system has more loopback addresses than the first.
		if (host === "127.0.0.2") return undefined;
		throw error;
	});
	if (!service) return;
	expect(service.url).toBe(`http://${host}:${service.port}`);
	expect((await send(`${service.url}/healthz`)).status).toBe(200);
	await service.close();
});

test("a port in use is named, with advice", async () => {
	const { port } = await start();
	const refusal = serveOn("127.0.0.1", port);
	await expect(refusal).rejects.toMatchObject({ code: "invalid_argument" });
	await expect(refusal).rejects.toThrow(new RegExp(`Port ${port} .* in use.*choose another`));
});

test("port 0 takes a free port, and closing frees it", async () => {
	const other = await start();
	const service = await serveOn("127.0.0.1", 0);
	expect(service.port).not.toBe(other.port);
	await service.close();
	await expect(send(`${service.url}/healthz`)).rejects.toThrow(/ECONNREFUSED/);
	const again = await serveOn("127.0.0.1", service.port);
	await again.close();
});
